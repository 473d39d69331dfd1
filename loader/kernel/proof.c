/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the program that checks a client's descriptor as the kernel sees it. */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"
#include "pmcbpf.skel.h"

static enum abi_proof proof_run(int prog, uint64_t op, int a, int b, int c)
{
	uint64_t args[4] = { op, (uint32_t)a, (uint32_t)b, (uint32_t)c };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	return bpf_prog_test_run_opts(prog, &opts) ? ABI_PROOF_UNKNOWN :
						     (enum abi_proof)opts.retval;
}

void proof_learn(const struct engine *e)
{
	const int prog = bpf_program__fd(e->skel->progs.proof_ctl);
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	proof_run(prog, ABI_PROOF_LEARN, pidfd, mem, maps);
	if (pidfd >= 0)
		close(pidfd);
	if (mem >= 0)
		close(mem);
	if (maps >= 0)
		close(maps);
}

enum abi_proof proof_check(const struct engine *e, int pidfd, int proof)
{
	const int prog = bpf_program__fd(e->skel->progs.proof_ctl);

	return proof_run(prog, ABI_PROOF_CHECK, pidfd, proof, -1);
}
