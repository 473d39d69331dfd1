/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames PID FILE: lets a stopped process go on until it has written its threads into the file, and
 * walks over their Python frames: by a program in the kernel, at the system call in which they
 * stand, and over the memory of the process.  Both find the same.  It compares them with libdwfl's
 * walk over the native stack: the calls of the interpreter's loop are exactly the native frames in
 * which the walk's addresses are.
 *
 *	T number of the thread
 *	F qualified name|file|line
 *	L frames of a call of the loop
 *	K frames found in the kernel, and the time in ns
 */
#include <elfutils/libdwfl.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "frames_kernel.h"
#include "loader/python/python.h"

static pid_t pid;

static int process_read(const struct python_memory *m, void *to, size_t size, uint64_t address)
{
	struct iovec local = { to, size }, remote = { (void *)address, size };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

static const struct python_memory memory = { process_read };

#define PYTHON_READ(arg, to, size, address) process_read(arg, to, size, address)
#include "bpf/python/python.bpf.h"

#define STEPS	   4096u
#define LOOPS	   1024u
#define LOOP_NAME  "_PyEval_EvalFrameDefault"
#ifdef __aarch64__
#define STACK_REGISTER 31
#else
#define STACK_REGISTER 7
#endif

/* --- the interpreter -------------------------------------------------------------------------- */

static uint64_t bias_of(int fd, uint64_t start, uint64_t offset)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	uint64_t bias = UINT64_MAX;
	size_t n = 0;
	GElf_Phdr ph;

	if (elf && elf_getphdrnum(elf, &n))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_X)
			bias = start - offset + ph.p_offset - ph.p_vaddr;
	elf_end(elf);
	return bias;
}

/* The mapped file that has an interpreter. */
static struct python_process interpreter(void)
{
	char path[4096], line[8192], file[4096];
	struct python_process p = { .runtime = 0 };
	struct reason why;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		err(2, "%s", path);
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end, offset;
		char mode[5];
		int fd, error;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4095[^\n]",
			   &start, &end, mode, &offset, file) != 5 || mode[2] != 'x' ||
		    file[0] != '/')
			continue;
		fd = open(file, O_RDONLY | O_CLOEXEC);
		error = fd < 0 ? -errno : python_file_read(&p, fd, &why);
		if (!error) {
			python_process_move(&p, bias_of(fd, start, offset));
			close(fd);
			fclose(maps);
			return p;
		}
		if (error != -ENODATA)
			warnx("%s: %s", file, fd < 0 ? strerror(-error) : why.text);
		close(fd);
	}
	errx(2, "process %d has no interpreter", pid);
}

/* --- a thread --------------------------------------------------------------------------------- */

struct loops {
	uint64_t at[LOOPS];
	unsigned int n, next, wrong;
	uint64_t sp;			/* of the native frame before */
	bool is_loop;
};

static void frame_print(const struct python_process *p, const struct python_frame *f)
{
	struct python_code *c;
	int error = python_code_read(&c, p, &memory, f->code, f->identity);

	if (error)
		errx(1, "code object at %#llx: %s", (unsigned long long)f->code, strerror(-error));
	if (c->nlines)
		printf("F %s|%s|%u\n", c->name, c->file, python_code_line(c, f->instruction));
	free(c);
}

/* The frames are as many as the kernel's program has found, and the same. */
static void frames_compare(const struct frames_taken *taken, pid_t tid,
			   const struct python_frame *frame, unsigned int n)
{
	if (taken->step != PYTHON_END || taken->n != n ||
	    memcmp(taken->frame, frame, n * sizeof(*frame)) != 0)
		errx(1, "thread %d: the kernel's program found %u frames, not %u, or others: %d",
		     tid, taken->n, n, taken->step);
	printf("K %u %llu\n", n, (unsigned long long)taken->ns);
}

static void thread_walk(const struct python_process *p, pid_t tid, struct loops *loops)
{
	static struct python_frame frame[STEPS];
	struct python_search search;
	struct python_walk w;
	unsigned int n = 0, in_loop = 0;
	int step = python_search_begin(&search, p, (uint64_t)tid, (void *)&memory);

	for (unsigned int i = 0; step == PYTHON_GO && i < STEPS; i++)
		step = python_search_step(&search, p, (void *)&memory);
	if (step != PYTHON_END)
		errx(1, "thread %d: its state: %d", tid, step);
	printf("T %d\n", tid);
	step = python_walk_begin(&w, p, search.found, (void *)&memory);
	for (; step == PYTHON_GO && n < STEPS; n++) {
		step = python_walk_step(&w, p, &frame[n], (void *)&memory);
		if (step != PYTHON_GO)
			break;
		if (frame[n].code)
			frame_print(p, &frame[n]);
		in_loop += frame[n].code != 0;
		if (!frame[n].loop)
			continue;
		printf("L %u\n", in_loop);
		in_loop = 0;
		if (loops->n < LOOPS)
			loops->at[loops->n++] = frame[n].loop;
	}
	if (step != PYTHON_END)
		errx(1, "thread %d: its frames: %d", tid, step);
	frames_compare(frames_kernel_taken(tid), tid, frame, n);
}

/* --- the native stack ------------------------------------------------------------------------- */

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = dwfl_standard_find_debuginfo,
};

static bool is_loop(Dwfl *dwfl, Dwarf_Addr pc)
{
	Dwfl_Module *m = dwfl_addrmodule(dwfl, pc);
	const char *name = m ? dwfl_module_addrname(m, pc) : NULL;

	return name && !strncmp(name, LOOP_NAME, strlen(LOOP_NAME));
}

/* The frame before this one ends at its stack pointer. */
static void native_end(struct loops *loops, uint64_t sp)
{
	unsigned int n = 0;

	while (loops->next < loops->n && loops->at[loops->next] - loops->sp < sp - loops->sp) {
		loops->next++;
		n++;
	}
	if (n != loops->is_loop)
		loops->wrong++;
}

struct job {
	const struct python_process *p;
	pid_t tid;
	struct loops loops;
};

/* The thread is stopped from the first of these calls to the last. */
static int native_frame(Dwfl_Frame *state, void *arg)
{
	struct job *job = arg;
	Dwarf_Addr pc;
	Dwarf_Word sp;
	bool exact;

	if (!dwfl_frame_pc(state, &pc, &exact) || dwfl_frame_reg(state, STACK_REGISTER, &sp))
		errx(2, "libdwfl: %s", dwfl_errmsg(-1));
	if (job->loops.sp)
		native_end(&job->loops, sp);
	else
		thread_walk(job->p, job->tid, &job->loops);
	job->loops.sp = sp;
	job->loops.is_loop = is_loop(dwfl_thread_dwfl(dwfl_frame_thread(state)),
				     exact ? pc : pc - 1);
	return DWARF_CB_OK;
}

static bool thread_compare(Dwfl *dwfl, const struct python_process *p, pid_t tid)
{
	struct job job = { .p = p, .tid = tid };

	if (dwfl_getthread_frames(dwfl, tid, native_frame, &job) && !job.loops.sp)
		errx(2, "libdwfl: thread %d: %s", tid, dwfl_errmsg(-1));
	if (job.loops.wrong || job.loops.next != job.loops.n || !job.loops.n) {
		warnx("thread %d: %u calls of the loop, %u found in native frames; wrong: %u",
		      tid, job.loops.n, job.loops.next, job.loops.wrong);
		return false;
	}
	return true;
}

/* --- the threads ------------------------------------------------------------------------------ */

#ifdef __aarch64__
#define READ_CALL 63
#else
#define READ_CALL 0
#endif

static bool thread_stands(pid_t tid)
{
	char path[64];
	int call = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%d", &call) != 1)
		call = -1;
	if (f)
		fclose(f);
	return call == READ_CALL;
}

/* The threads of a list that is complete, and that stand; or 0. */
static unsigned int threads_read(const char *path, pid_t *tids, unsigned int room)
{
	FILE *f = fopen(path, "re");
	char line[PYTHON_TEXT * 3];
	unsigned int n = 0, ends = 0;

	if (!f)
		err(2, "%s", path);
	while (fgets(line, sizeof(line), f)) {
		ends += *line == 'E';
		if (*line == 'T' && n < room)
			tids[n++] = atoi(line + 1);
	}
	fclose(f);
	for (unsigned int i = 0; ends && i < n; i++)
		ends = thread_stands(tids[i]);
	return ends ? n : 0;
}

int main(int argc, char **argv)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);
	struct python_process p;
	unsigned int n = 0;
	bool good = true;
	pid_t tids[64];

	elf_version(EV_CURRENT);
	if (argc != 3)
		errx(2, "usage: frames PID FILE");
	pid = atoi(argv[1]);
	p = interpreter();
	frames_kernel_begin(pid, &p);
	if (kill(pid, SIGCONT))
		err(2, "process %d", pid);
	for (int waits = 0; !n && waits < 6000; waits++) {
		usleep(10000);
		n = threads_read(argv[2], tids, sizeof(tids) / sizeof(tids[0]));
	}
	if (!n)
		errx(2, "process %d has not come to stand", pid);
	if (!dwfl || dwfl_linux_proc_report(dwfl, pid) || dwfl_report_end(dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(dwfl, pid, false))
		errx(2, "libdwfl: %s", dwfl_errmsg(-1));
	for (unsigned int i = 0; i < n; i++)
		good &= thread_compare(dwfl, &p, tids[i]);
	dwfl_end(dwfl);
	return !good;
}
