build-asan/obj/pctr/sock.o: pctr/sock.c pctr/request.h pctr/sock.h \
 pctr/core.h lib/include/machine/pctr.h lib/include/machine/cpufunc.h \
 pctr/function.h pctr/log.h pctr/receive.h pctr/../lib/base/helper.h \
 pctr/../lib/base/message.h pctr/pctr_wire.h pctr/watch.h
pctr/request.h:
pctr/sock.h:
pctr/core.h:
lib/include/machine/pctr.h:
lib/include/machine/cpufunc.h:
pctr/function.h:
pctr/log.h:
pctr/receive.h:
pctr/../lib/base/helper.h:
pctr/../lib/base/message.h:
pctr/pctr_wire.h:
pctr/watch.h:
