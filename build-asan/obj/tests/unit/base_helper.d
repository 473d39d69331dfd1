build-asan/obj/tests/unit/base_helper.o: tests/unit/base_helper.c \
 tests/unit/../../lib/base/helper.h tests/unit/../../lib/base/message.h \
 tests/unit/util/unit.h
tests/unit/../../lib/base/helper.h:
tests/unit/../../lib/base/message.h:
tests/unit/util/unit.h:
