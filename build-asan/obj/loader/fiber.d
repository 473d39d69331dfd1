build-asan/obj/loader/fiber.o: loader/fiber.c loader/clock.h \
 loader/fiber.h
loader/clock.h:
loader/fiber.h:
