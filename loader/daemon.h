/* SPDX-License-Identifier: BSD-2-Clause */
/* The old place of daemon/daemon.h, for rooms that still include it from here. */
#include "loader/daemon/daemon.h"
