build-asan/obj/tests/unit/util/scratch.o: tests/unit/util/scratch.c \
 tests/unit/util/scratch.h
tests/unit/util/scratch.h:
