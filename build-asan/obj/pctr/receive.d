build-asan/obj/pctr/receive.o: pctr/receive.c pctr/receive.h \
 pctr/../lib/base/helper.h pctr/../lib/base/message.h pctr/pctr_wire.h \
 lib/include/machine/pctr.h lib/include/machine/cpufunc.h
pctr/receive.h:
pctr/../lib/base/helper.h:
pctr/../lib/base/message.h:
pctr/pctr_wire.h:
lib/include/machine/pctr.h:
lib/include/machine/cpufunc.h:
