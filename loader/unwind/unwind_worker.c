/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/confine.h"
#include "loader/python/python.h"
#include "unwind_worker.h"

#define FILE_MAX (64u << 20)		/* bytes of a table as it is written */

#ifdef __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH AUDIT_ARCH_X86_64
#endif

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

#define LOAD(field)	 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(k, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, n)
#define RETURN(action)	 BPF_STMT(BPF_RET | BPF_K, action)
#define ALLOW(name)	 SKIP_UNLESS(__NR_##name, 1), RETURN(SECCOMP_RET_ALLOW)
#define REFUSE		 RETURN(SECCOMP_RET_ERRNO | EPERM)

/*
 * What is not allowed fails, and does not kill: C libraries try some calls that they can do
 * without. Memory is private, anonymous and not executable.
 */
static int worker_filter(void)
{
	static struct sock_filter code[] = {
		LOAD(arch), SKIP_UNLESS(ARCH, 1), BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), REFUSE,
		LOAD(nr),
		ALLOW(read), ALLOW(pread64), ALLOW(write), ALLOW(exit_group), ALLOW(brk),
		ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(restart_syscall),
		SKIP_UNLESS(__NR_mmap, 5),
		LOAD(args[3]), SKIP_UNLESS(MAP_PRIVATE | MAP_ANONYMOUS, 3),
		LOAD(args[2]), SKIP_UNLESS(PROT_READ | PROT_WRITE, 1),
		RETURN(SECCOMP_RET_ALLOW), REFUSE,
	};
	static const struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]), .filter = code,
	};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

static int worker_limit(int resource, uint64_t most)
{
	const struct rlimit limit = { .rlim_cur = most, .rlim_max = most };

	return setrlimit((__rlimit_resource_t)resource, &limit) ? -errno : 0;
}

/* CPU time counts from the helper's start, and not from this job's. */
static uint64_t worker_cpu_s(void)
{
	struct timespec ts = { .tv_sec = 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec + 1;
}

int unwind_worker_confine(const struct unwind_limits *limits)
{
	int err = worker_limit(RLIMIT_CPU, worker_cpu_s() + limits->cpu_s);

	err = err ?: worker_limit(RLIMIT_FSIZE, FILE_MAX);
	err = err ?: worker_limit(RLIMIT_CORE, 0);
	err = err ?: confine_capabilities(0, 0);
	if (err || SANITIZED)
		return err;
	err = worker_limit(RLIMIT_AS, (uint64_t)limits->memory_mb << 20);
	return err ?: worker_filter();
}

int unwind_worker_job(struct helper_call *call)
{
	struct unwind_limits limits;
	struct unwind_table t;
	struct reason why;
	int err, written;

	if (call->len != sizeof(limits) || call->nfds != 2)
		return -EPROTO;
	memcpy(&limits, call->arg, sizeof(limits));
	err = unwind_worker_confine(&limits);
	if (err)
		helper_finish(call, err);
	err = unwind_table_build(&t, &(struct unwind_input){ .fd = call->fds[0] }, &why);
	/* A file that has no interpreter, or one of another version, is as good without. */
	if (!err)
		(void)python_file_read(&t.python, call->fds[0], &why);
	written = unwind_shared_write(call->fds[1], err ? NULL : &t, &why);
	helper_finish(call, written ? written : err);
}
