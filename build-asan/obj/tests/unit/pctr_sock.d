build-asan/obj/tests/unit/pctr_sock.o: tests/unit/pctr_sock.c \
 tests/unit/../../pctr/sock.h tests/unit/../../pctr/core.h \
 lib/include/machine/pctr.h lib/include/machine/cpufunc.h \
 tests/unit/../../pctr/function.h tests/unit/../../pctr/log.h \
 tests/unit/../../pctr/receive.h \
 tests/unit/../../pctr/../lib/base/helper.h \
 tests/unit/../../pctr/../lib/base/message.h \
 tests/unit/../../pctr/pctr_wire.h tests/unit/../../pctr/watch.h \
 tests/unit/util/pctr_core.h tests/unit/util/../../../pctr/core.h \
 tests/unit/util/scratch.h tests/unit/util/unit.h
tests/unit/../../pctr/sock.h:
tests/unit/../../pctr/core.h:
lib/include/machine/pctr.h:
lib/include/machine/cpufunc.h:
tests/unit/../../pctr/function.h:
tests/unit/../../pctr/log.h:
tests/unit/../../pctr/receive.h:
tests/unit/../../pctr/../lib/base/helper.h:
tests/unit/../../pctr/../lib/base/message.h:
tests/unit/../../pctr/pctr_wire.h:
tests/unit/../../pctr/watch.h:
tests/unit/util/pctr_core.h:
tests/unit/util/../../../pctr/core.h:
tests/unit/util/scratch.h:
tests/unit/util/unit.h:
