build-asan/obj/lib/base/message.o: lib/base/message.c lib/base/message.h
lib/base/message.h:
