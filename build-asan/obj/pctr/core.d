build-asan/obj/pctr/core.o: pctr/core.c pctr/core.h \
 lib/include/machine/pctr.h lib/include/machine/cpufunc.h pctr/function.h \
 pctr/log.h pctr/request.h
pctr/core.h:
lib/include/machine/pctr.h:
lib/include/machine/cpufunc.h:
pctr/function.h:
pctr/log.h:
pctr/request.h:
