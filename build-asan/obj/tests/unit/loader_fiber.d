build-asan/obj/tests/unit/loader_fiber.o: tests/unit/loader_fiber.c \
 tests/unit/../../loader/clock.h tests/unit/../../loader/fiber.h \
 tests/unit/util/unit.h
tests/unit/../../loader/clock.h:
tests/unit/../../loader/fiber.h:
tests/unit/util/unit.h:
