build-asan/obj/pctr/watch.o: pctr/watch.c pctr/watch.h
pctr/watch.h:
