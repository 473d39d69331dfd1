/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals and cancellation are deferred while a library call holds a lock.
 *
 * FreeBSD's calls are system calls: a signal handler may make one while it interrupts another, and
 * a thread is not cancelled in the middle of one.  In a library the handler's call would wait for
 * the lock of the call that it interrupts, and a cancelled thread would never release its lock.
 * So every lock is taken between sigdefer_begin() and sigdefer_end().  Signals that a fault raises
 * are not deferred: their handlers cannot wait.
 */
#ifndef PMCBPF_BASE_SIGDEFER_H
#define PMCBPF_BASE_SIGDEFER_H

#include <stdbool.h>

/* The pairs nest; the outermost end restores the program's signal mask and cancellation state. */
void sigdefer_begin(void);
void sigdefer_end(void);

/* Before a long wait: signals without a handler may end or stop the program again. */
void sigdefer_wait(void);

/* The program handles the signal or waits for it.  Valid after sigdefer_begin() only. */
bool sigdefer_takes(int sig);

/* The calling thread blocks the signal itself.  Valid after sigdefer_begin() only. */
bool sigdefer_blocks(int sig);

/*
 * An emulator such as valgrind handles the program's signals: the kernel reports handlers that
 * sigaction(2) does not.
 */
bool sigdefer_emulated(void);

#endif
