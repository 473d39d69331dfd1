build-asan/obj/pctr/function.o: pctr/function.c \
 lib/include/machine/pctr.h lib/include/machine/cpufunc.h pctr/function.h
lib/include/machine/pctr.h:
lib/include/machine/cpufunc.h:
pctr/function.h:
