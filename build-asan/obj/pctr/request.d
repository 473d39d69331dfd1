build-asan/obj/pctr/request.o: pctr/request.c pctr/pctr_wire.h \
 lib/include/machine/pctr.h lib/include/machine/cpufunc.h pctr/request.h
pctr/pctr_wire.h:
lib/include/machine/pctr.h:
lib/include/machine/cpufunc.h:
pctr/request.h:
