build-asan/obj/pctr/log.o: pctr/log.c pctr/log.h
pctr/log.h:
