/* SPDX-License-Identifier: BSD-2-Clause */
/* See waker.h. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "waker.h"
#include "verifier.h"
#include "pmcbpf.skel.h"
#include "waker.skel.h"

#define LOG_SIZE (1 << 16)

struct waker {
	struct waker_bpf *skel;
	bool unwinds;
};

/* Uses the maps of the engine. */
static int waker_share(const struct engine *e, struct waker_bpf *skel)
{
	const struct pmcbpf *from = e->skel;
	const struct { struct bpf_map *map, *from; } shared[] = {
		{ skel->maps.offcpu_entries, from->maps.offcpu_entries },
		{ skel->maps.offcpu_threads, from->maps.offcpu_threads },
		{ skel->maps.offcpu_wakers, from->maps.offcpu_wakers },
		{ skel->maps.unwind_chunks, from->maps.unwind_chunks },
		{ skel->maps.unwind_files, from->maps.unwind_files },
		{ skel->maps.unwind_processes, from->maps.unwind_processes },
		{ skel->maps.unwind_notes, from->maps.unwind_notes },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]) && !err; i++)
		err = bpf_map__reuse_fd(shared[i].map, bpf_map__fd(shared[i].from));
	return err;
}

static int waker_deny_blind(struct reason *why)
{
	return deny(why, -EOPNOTSUPP, "PMC_F_WAKERS: on this kernel a program cannot see whether "
		    "it runs in an interrupt; it takes one with CONFIG_KALLSYMS_ALL and "
		    "CONFIG_DEBUG_INFO_BTF");
}

/* On arm64 a thread has the counter; on x86-64 a CPU, in one of two variables. */
static bool waker_sees_interrupts(void)
{
#ifdef __x86_64__
	struct btf *btf = btf__load_vmlinux_btf();
	bool sees = btf && (btf__find_by_name_kind(btf, "__preempt_count", BTF_KIND_VAR) > 0 ||
			    btf__find_by_name_kind(btf, "pcpu_hot", BTF_KIND_VAR) > 0);

	btf__free(btf);
	return sees;
#else
	return true;
#endif
}

static int waker_load(const struct engine *e, struct waker *w, bool unwind, uint32_t max_stack,
		      const struct abi_level *level, char *log, struct reason *why)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = log, .kernel_log_size = LOG_SIZE);
	int err;

	waker_bpf__destroy(w->skel);
	w->skel = waker_bpf__open_opts(&opts);
	if (!w->skel)
		return deny(why, -errno, "cannot open the program of PMC_F_WAKERS: %m");
	w->skel->rodata->wakers_unwind = w->unwinds = unwind;
	w->skel->rodata->max_stack = max_stack;
	w->skel->rodata->nested = level;
	if (level)
		w->skel->bss->level = *level;
	err = waker_share(e, w->skel);
	err = err ?: waker_bpf__load(w->skel);
	if (err && strstr(log, "address for kernel symbol"))
		return waker_deny_blind(why);
	return err ? verifier_deny(why, err, "the program of PMC_F_WAKERS", log) : 0;
}

int waker_new(const struct engine *e, bool unwind, uint32_t max_stack,
	      const struct abi_level *level, struct waker **out, struct reason *why)
{
	struct waker *w = calloc(1, sizeof(*w));
	char *log = calloc(1, LOG_SIZE);
	unsigned int tries = 0;
	int err;

	if (!w || !log)
		err = deny(why, -ENOMEM, "no memory for the program of PMC_F_WAKERS");
	else if (!waker_sees_interrupts())
		err = waker_deny_blind(why);
	else
		do {
			err = waker_load(e, w, unwind, max_stack, level, log, why);
		} while (verifier_was_interrupted(err, &tries));
	free(log);
	if (err)
		waker_free(w);
	else
		*out = w;
	return err;
}

bool waker_unwinds(const struct waker *w)
{
	return w->unwinds;
}

int waker_attach(struct waker *w, struct reason *why)
{
	int err = waker_bpf__attach(w->skel);

	return err ? deny(why, err, "cannot attach the program of PMC_F_WAKERS: %s",
			  strerror(-err)) : 0;
}

void waker_detach(struct waker *w)
{
	waker_bpf__detach(w->skel);
}

void waker_free(struct waker *w)
{
	if (w)
		waker_bpf__destroy(w->skel);
	free(w);
}
