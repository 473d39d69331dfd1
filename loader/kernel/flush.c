/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two programs can flush a CPU.  The one that reads registers attaches to another program, which
 * must be loaded before it.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod/pmcbpf_msr.h"
#include "engine.h"
#include "loader/base/base.h"
#include "pmcbpf.skel.h"
#include "poke.skel.h"
#include "programs.h"
#include "verifier.h"

#define MODULE_BTF "/sys/kernel/btf/" PMCBPF_MSR_NAME
#define MODULE_DIR "/sys/module/" PMCBPF_MSR_NAME
#define LOG_SIZE   4096

struct flush {
	struct pmcbpf *skel;
	struct bpf_object *poke;	/* NULL: no registers */
	struct bpf_link *link;
	int program;			/* the one that is run */
	const struct engine *e;
	struct reason no_msr;
	bool counters;
};

/* *counters: it also reads counters. */
static bool module_has_kfunc(bool *counters)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();
	struct btf *module = vmlinux ? btf__load_module_btf(PMCBPF_MSR_NAME, vmlinux) : NULL;
	bool has = programs_btf_has(module, "pmcbpf_msr_read", BTF_KIND_FUNC);

	*counters = programs_btf_has(module, "pmcbpf_event_count", BTF_KIND_FUNC);
	btf__free(module);
	btf__free(vmlinux);
	return has;
}

void flush_find_module(struct flush_module *m)
{
	struct reason *why = &m->no_msr;

	*m = (struct flush_module){ .counters = false };
	if (access(MODULE_DIR, F_OK))
		deny(why, -ENOENT, "the module " PMCBPF_MSR_NAME ", which reads registers of "
		     "processes, was not loaded when pmcbpfd started: modprobe " PMCBPF_MSR_NAME
		     " and restart pmcbpfd");
	else if (access(MODULE_BTF, F_OK) || !module_has_kfunc(&m->counters))
		deny(why, -ENOENT, "the module " PMCBPF_MSR_NAME " was built without type "
		     "information, so that programs cannot call it: it needs pahole and the "
		     "kernel's vmlinux (make kmod); load that one and restart pmcbpfd");
}

static int poke_load(struct flush *f, struct reason *why)
{
	char log[LOG_SIZE] = "";
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "poke", .kernel_log_buf = log,
		    .kernel_log_size = LOG_SIZE);
	const void *elf;
	size_t size;
	int err;

	elf = poke__elf_bytes(&size);
	f->poke = bpf_object__open_mem(elf, size, &opts);
	if (!f->poke)
		return deny(why, -errno, "cannot open the program that reads registers: %m");
	err = bpf_object__load(f->poke);
	if (err)
		return verifier_deny(why, err, "the program that reads registers", log);
	f->program = bpf_program__fd(bpf_object__find_program_by_name(f->poke, "poke"));
	err = bpf_program__set_attach_target(f->skel->progs.flush_poked, f->program, "poke");
	return err ? deny(why, err, "cannot prepare the program that reads registers: %s",
			  strerror(-err)) : 0;
}

int flush_new(struct pmcbpf *skel, const struct flush_module *m, struct flush **out,
	      struct reason *why)
{
	const bool msr = !*m->no_msr.text;
	struct flush *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	*out = f;
	f->skel = skel;
	f->no_msr = m->no_msr;
	f->counters = msr && m->counters;
	skel->rodata->reads_msr = msr;
	skel->rodata->reads_counters = f->counters;
	bpf_program__set_autoload(skel->progs.flush, !msr);
	bpf_program__set_autoload(skel->progs.flush_poked, msr);
	return msr ? poke_load(f, why) : 0;
}

int flush_attach(struct flush *f, const struct engine *e, struct reason *why)
{
	int err;

	f->e = e;
	if (!f->poke) {
		f->program = bpf_program__fd(f->skel->progs.flush);
		return 0;
	}
	f->link = bpf_program__attach(f->skel->progs.flush_poked);
	err = f->link ? 0 : -errno;
	return err ? deny(why, err, "the kernel puts no program onto another, which reading "
			  "registers takes: %s", strerror(-err)) : 0;
}

void flush_free(struct flush *f)
{
	if (!f)
		return;
	bpf_link__destroy(f->link);
	bpf_object__close(f->poke);
	free(f);
}

/*
 * An offline CPU has no open slice.  A program that asks for another run was interrupting an exec
 * that was changing the slice.
 */
int flush_cpu(const struct flush *f, unsigned int cpu)
{
	int err;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (int)cpu);

	DEBUG(f->e->debug, CSW, SWO, "CPU %u: the open slice ends, and goes on", cpu);
	do
		err = bpf_prog_test_run_opts(f->program, &opts);
	while (!err && __atomic_load_n(&f->e->cpus[cpu].again, __ATOMIC_ACQUIRE));
	return err == -ENXIO ? 0 : err;
}

int flush_all(const struct flush *f)
{
	int err = 0;

	for (unsigned int cpu = 0; cpu < f->e->ncpu; cpu++) {
		int one = flush_cpu(f, cpu);

		err = err ?: one;
	}
	return err;
}

/* No slice is open on an offline CPU, and nothing writes its counts. */
int flush_snapshot(const struct flush *f, unsigned int cpu, unsigned int slot,
		   const volatile struct abi_counts *k, uint64_t *sum)
{
	const volatile struct abi_cpu *c = &f->e->cpus[cpu];
	struct pmcbpf__bss *bss = f->skel->bss;
	int err;

	bss->snapshot_owner = slot;
	__atomic_store_n(&bss->snapshot_number, bss->snapshot_number + 1, __ATOMIC_SEQ_CST);
	err = flush_cpu(f, cpu);
	if (err)
		return err;
	for (unsigned int i = 0; i < ABI_COUNTS; i++)
		sum[i] += c->snapshot_number == bss->snapshot_number ? c->snapshot[i] : k->count[i];
	return 0;
}

int flush_deny(int err, struct reason *why)
{
	return deny(why, err, "the kernel did not run the program that ends time slices: %s",
		    strerror(-err));
}

const char *flush_no_msr(const struct flush *f)
{
	return *f->no_msr.text ? f->no_msr.text : NULL;
}

bool flush_reads_counters(const struct flush *f)
{
	return f->counters;
}

unsigned long long flush_counters_disagreed(const struct flush *f)
{
	return f->skel->bss->counters_disagreed;
}
