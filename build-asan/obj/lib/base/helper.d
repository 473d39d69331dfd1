build-asan/obj/lib/base/helper.o: lib/base/helper.c \
 lib/base/helper_impl.h lib/base/helper.h lib/base/message.h
lib/base/helper_impl.h:
lib/base/helper.h:
lib/base/message.h:
