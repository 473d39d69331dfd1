build-asan/obj/lib/base/helper_process.o: lib/base/helper_process.c \
 lib/base/helper_impl.h lib/base/helper.h lib/base/message.h
lib/base/helper_impl.h:
lib/base/helper.h:
lib/base/message.h:
