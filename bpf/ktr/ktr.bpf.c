// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's trace points, which write to the rings, and the stop triggers.  Compiled as one
 * object: bpftool cannot link several objects that name the same optional kernel function.
 */
#include "ktr_task.bpf.h"
#include "ktr_mem.bpf.h"
#include "ktr_irq.bpf.h"
#include "ktr_net.bpf.h"
#include "ktr_stop.bpf.h"

char LICENSE[] SEC("license") = "GPL";
