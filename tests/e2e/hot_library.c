/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that hot.c loads while it runs. */
#include "../vm/progs/spin.h"

void in_library(unsigned long rounds);

void in_library(unsigned long rounds)
{
	spin(rounds);
}
