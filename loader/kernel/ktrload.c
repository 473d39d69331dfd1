/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the programs of the trace rings.  One BPF object holds the maps, the daemon's program and
 * the triggers.  Each further object holds the programs that were loaded together, over the same
 * maps: a class can be added later, and a program that the verifier refuses takes no other with it.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/ktrmask.h"
#include "ktrload.h"
#include "ktrpin.h"
#include "verifier.h"
/* The skeleton names types of these headers. */
#include "ktrace.skel.h"

#define LOG_SIZE   (1 << 20)
#define MAX_POINTS KTR_EVENTS
#define MAX_STOPS  (3 + KTR_STOP_TPS)

_Static_assert(KTRCONF_STOP_TPS == KTR_STOP_TPS && (int)KTRCONF_TP_NAME == KTR_TP_NAME,
	       "struct ktr_conf's tracepoints");

/* A tracepoint with its program, on_NAME. */
struct point {
	const char *tp;
	uint32_t classes;		/* of all its events together */
	bool here;			/* the kernel has it */
	struct ktr_batch *batch;		/* NULL: not loaded */
	struct bpf_program *prog;
	struct bpf_link *link;		/* NULL: not attached */
};

/* Programs that were loaded together. */
struct ktr_batch {
	struct ktr_batch *next;
	struct ktrace *skel;
	unsigned int loaded;		/* how many are still loaded */
};

struct ktrload {
	struct ktr_layout layout;
	struct ktrace *skel;
	const struct ktr_region *region;
	struct ktrpin pin;
	struct ktr_batch *batches;
	struct bpf_link *stops[MAX_STOPS];
	uint32_t refused, lacking;	/* classes that the kernel refuses, or lacks */
	unsigned int npoint;
	struct point point[MAX_POINTS];
	char log[LOG_SIZE];		/* the verifier's messages */
};

/* --- points -------------------------------------------------------------------------------- */

static struct point *find_point(struct ktrload *l, const char *tp)
{
	for (unsigned int i = 0; i < l->npoint; i++)
		if (!strcmp(l->point[i].tp, tp))
			return &l->point[i];
	return NULL;
}

static void list_points(struct ktrload *l)
{
	struct ktr_event_info info;

	for (unsigned int id = 0; ktrregion_event(id, &info); id++) {
		struct point *p = find_point(l, info.tp);

		if (!*info.tp)
			continue;
		if (!p) {
			p = &l->point[l->npoint++];
			p->tp = info.tp;
		}
		p->classes |= info.classes;
	}
}

/* The kernel's BTF names its tracepoints btf_trace_NAME. */
static int look_for_points(struct ktrload *l, struct reason *why)
{
	static const char prefix[] = "btf_trace_";
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return deny(why, -errno, "cannot read the kernel's type information: %m");
	for (uint32_t i = 1; i < btf__type_cnt(btf); i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);
		const char *name = btf__name_by_offset(btf, t->name_off);
		struct point *p;

		if (!btf_is_typedef(t) || strncmp(name, prefix, sizeof(prefix) - 1))
			continue;
		p = find_point(l, name + sizeof(prefix) - 1);
		if (p)
			p->here = true;
	}
	btf__free(btf);
	return 0;
}

/* --- objects ------------------------------------------------------------------------------- */

static struct ktrace *open_object(struct ktrload *l)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = l->log,
		    .kernel_log_size = LOG_SIZE, .kernel_log_level = 0);
	struct ktrace *skel = ktrace__open_opts(&opts);
	struct bpf_program *prog = NULL;

	if (!skel)
		return NULL;
	l->log[0] = '\0';
	skel->rodata->ktr_first = l->layout.first;
	skel->rodata->ktr_stride = l->layout.stride;
	skel->rodata->ktr_last = l->layout.entries - 1;
	skel->rodata->ktr_generation = l->layout.generation;
	while ((prog = bpf_object__next_program(skel->obj, prog)))
		bpf_program__set_autoload(prog, false);
	return skel;
}

static int load_base(struct ktrload *l, struct reason *why)
{
	struct bpf_program *prog[] = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
	int err;

	l->skel = open_object(l);
	if (!l->skel)
		return deny(why, -errno, "cannot open the trace points' programs: %m");
	prog[0] = l->skel->progs.ktr_order;
	prog[1] = l->skel->progs.stop_signal;
	prog[2] = l->skel->progs.stop_oom;
	prog[3] = l->skel->progs.stop_panic;
	prog[4] = l->skel->progs.stop_tp0;
	prog[5] = l->skel->progs.stop_tp1;
	prog[6] = l->skel->progs.stop_tp2;
	prog[7] = l->skel->progs.stop_tp3;
	for (unsigned int i = 0; i < sizeof(prog) / sizeof(prog[0]); i++)
		bpf_program__set_autoload(prog[i], true);
	err = bpf_map__set_max_entries(l->skel->maps.ktr_rings, (uint32_t)l->layout.slots);
	err = err ?: ktrace__load(l->skel);
	if (err == -ENOMEM)
		return deny(why, err, "no memory for trace rings of %llu bytes on each of %u CPUs; "
			    "set ktr.size lower",
			    (unsigned long long)l->layout.entries * KTR_ENTRY_SIZE, l->layout.ncpu);
	return err ? verifier_deny(why, err, "trace rings", l->log) : 0;
}

/* Loads the programs of `classes` that are not loaded yet. */
static int load_batch(struct ktrload *l, uint32_t classes)
{
	struct ktr_batch *b = calloc(1, sizeof(*b));
	char name[KTR_TP_NAME + 4];
	int err = -ENOMEM;

	if (!b)
		return err;
	b->skel = open_object(l);
	if (!b->skel)
		goto fail;
	err = bpf_map__reuse_fd(b->skel->maps.ktr_rings, bpf_map__fd(l->skel->maps.ktr_rings));
	err = err ?: bpf_map__reuse_fd(b->skel->maps.ktr_waits,
				       bpf_map__fd(l->skel->maps.ktr_waits));
	err = err ?: bpf_map__reuse_fd(b->skel->maps.data_ktr,
				       bpf_map__fd(l->skel->maps.data_ktr));
	for (unsigned int i = 0; i < l->npoint; i++) {
		struct point *p = &l->point[i];

		if (p->batch || !p->here || !(p->classes & classes))
			continue;
		snprintf(name, sizeof(name), "on_%s", p->tp);
		p->prog = bpf_object__find_program_by_name(b->skel->obj, name);
		/* not for this architecture */
		if (!p->prog)
			continue;
		bpf_program__set_autoload(p->prog, true);
		p->batch = b;
		b->loaded++;
	}
	err = err ?: b->loaded ? ktrace__load(b->skel) : 0;
	if (!err && b->loaded) {
		b->next = l->batches;
		l->batches = b;
		return 0;
	}
fail:
	for (unsigned int i = 0; i < l->npoint; i++)
		if (l->point[i].batch == b)
			l->point[i].batch = NULL;
	ktrace__destroy(b->skel);
	free(b);
	return err;
}

static void sweep_batches(struct ktrload *l, bool all)
{
	for (struct ktr_batch **at = &l->batches, *b; (b = *at);) {
		if (b->loaded && !all) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		ktrace__destroy(b->skel);
		free(b);
	}
}

static void program_attach(struct point *p, struct reason *note)
{
	p->link = bpf_program__attach(p->prog);
	if (!p->link && !note->text[0])
		deny(note, -errno, "cannot attach to the trace point %s: %m", p->tp);
}

static void program_detach(struct point *p)
{
	bpf_link__destroy(p->link);
	p->link = NULL;
}

static void batch_unload(struct point *p)
{
	program_detach(p);
	bpf_program__unload(p->prog);
	p->batch->loaded--;
	p->batch = NULL;
}

static uint32_t loaded_classes(const struct ktrload *l)
{
	uint32_t classes = 0;

	for (unsigned int i = 0; i < l->npoint; i++)
		if (l->point[i].batch)
			classes |= l->point[i].classes;
	return classes;
}

uint32_t ktrload_classes(struct ktrload *l, uint32_t classes, uint32_t *missing,
			 struct reason *note)
{
	uint32_t loaded, reported = l->refused | l->lacking;
	char text[KTRMASK_TEXT], what[KTRMASK_TEXT + 32];
	int err;

	note->text[0] = '\0';
	for (unsigned int i = 0; i < l->npoint; i++)
		if (l->point[i].batch && !(l->point[i].classes & classes))
			batch_unload(&l->point[i]);
	sweep_batches(l, false);
	if (load_batch(l, classes & ~l->refused))
		for (uint32_t bit = 1; bit; bit <<= 1) {
			err = classes & bit & ~l->refused ? load_batch(l, bit) : 0;
			if (!err)
				continue;
			l->refused |= bit;
			ktrmask_text(bit, text, sizeof(text));
			snprintf(what, sizeof(what), "the programs of class %s", text);
			verifier_deny(note, err, what, l->log);
		}
	loaded = loaded_classes(l) & classes & ~l->refused;
	*missing = classes & ~loaded;
	l->lacking |= *missing & ~l->refused;
	/* Each class is reported once. */
	if (l->lacking & *missing & ~reported && !note->text[0]) {
		ktrmask_text(l->lacking & *missing, text, sizeof(text));
		deny(note, 0, "this kernel has no trace points of class %s", text);
	}
	return loaded;
}

void ktrload_attach(struct ktrload *l, uint32_t classes, struct reason *note)
{
	for (unsigned int i = 0; i < l->npoint; i++) {
		struct point *p = &l->point[i];
		bool wanted = p->batch && p->classes & classes;

		if (wanted && !p->link)
			program_attach(p, note);
		else if (!wanted && p->link)
			program_detach(p);
	}
}

/* --- triggers ------------------------------------------------------------------------------ */

/*
 * Waits until all runs of programs that have begun are over: the kernel does so after each change
 * of a map of maps.
 */
static int runs_wait(struct reason *why)
{
	const uint32_t key = 0;
	int outer = -1, err = -1;
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", sizeof(key), sizeof(key), 1, NULL);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)inner);

	if (inner >= 0)
		outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "outer", sizeof(key),
				       sizeof(key), 1, &opts);
	if (outer >= 0)
		err = bpf_map_update_elem(outer, &key, &inner, 0);
	if (err)
		err = deny(why, -errno, "ktr.stop: waiting for triggers that are detached: %m");
	if (outer >= 0)
		close(outer);
	if (inner >= 0)
		close(inner);
	return err;
}

static bool detach_stops(struct ktrload *l)
{
	bool any = false;

	for (unsigned int i = 0; i < MAX_STOPS; i++) {
		any |= l->stops[i] != NULL;
		bpf_link__destroy(l->stops[i]);
		l->stops[i] = NULL;
	}
	return any;
}

int ktrload_stop(struct ktrload *l, const struct ktr_conf *conf, struct reason *why)
{
	struct bpf_program *const tp[KTR_STOP_TPS] = {
		l->skel->progs.stop_tp0, l->skel->progs.stop_tp1, l->skel->progs.stop_tp2,
		l->skel->progs.stop_tp3,
	};
	struct {
		struct bpf_program *prog;
		const char *tp;
	} stop[MAX_STOPS];
	struct ktr_control *control = &l->skel->data_ktr->ktr;
	unsigned int n = 0;
	int err = 0;

	/* What was still being attached has stopped nothing, nor will its last runs. */
	__atomic_store_n(&control->armed, 0, __ATOMIC_SEQ_CST);
	if (detach_stops(l))
		err = runs_wait(why);
	if (err)
		return err;
	control->stop_signals = conf->signals;
	memcpy(control->stop_tp, conf->tp, sizeof(control->stop_tp));
	if (conf->signals)
		stop[n].prog = l->skel->progs.stop_signal, stop[n++].tp = "signal_deliver";
	if (conf->oom)
		stop[n].prog = l->skel->progs.stop_oom, stop[n++].tp = "mark_victim";
	if (conf->panic)
		stop[n].prog = l->skel->progs.stop_panic, stop[n++].tp = "console";
	for (unsigned int i = 0; i < conf->ntp; i++)
		stop[n].prog = tp[i], stop[n++].tp = conf->tp[i];
	for (unsigned int i = 0; i < n; i++) {
		l->stops[i] = bpf_program__attach_raw_tracepoint(stop[i].prog, stop[i].tp);
		if (!l->stops[i])
			return deny(why, -errno, "ktr.stop: this kernel has no tracepoint \"%s\" "
				    "that a program can be attached to: %m", stop[i].tp);
	}
	__atomic_store_n(&control->armed, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* --- the region ---------------------------------------------------------------------------- */

/* Writes through the descriptor, before the map is frozen for user space. */
static int write_header(struct ktrload *l)
{
	int rings = bpf_map__fd(l->skel->maps.ktr_rings), err = 0;
	struct ktr_entry *header = calloc(l->layout.first, sizeof(*header));
	struct ktr_ring ring = { 0 };

	if (!header)
		return -ENOMEM;
	ktrregion_header((struct ktr_region *)header, &l->layout);
	for (uint32_t slot = 0; !err && slot < l->layout.first; slot++)
		err = bpf_map_update_elem(rings, &slot, &header[slot], BPF_ANY);
	for (; !err && ring.cpu < l->layout.ncpu; ring.cpu++) {
		uint32_t slot = (uint32_t)ktrregion_slot(&l->layout, ring.cpu);

		err = bpf_map_update_elem(rings, &slot, &ring, BPF_ANY);
	}
	free(header);
	return err ?: bpf_map_freeze(rings);
}

int ktrload_new(struct ktrload **out, const struct ktr_layout *layout, struct reason *why)
{
	struct ktrload *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return deny(why, -ENOMEM, "no memory");
	l->layout = *layout;
	l->pin = KTRPIN_NONE;
	list_points(l);
	err = look_for_points(l, why);
	err = err ?: load_base(l, why);
	if (!err && (err = write_header(l)))
		deny(why, err, "cannot make the trace region: %s", strerror(-err));
	if (!err) {
		void *at = mmap(NULL, ktrregion_size(layout), PROT_READ, MAP_SHARED,
				bpf_map__fd(l->skel->maps.ktr_rings), 0);

		if (at == MAP_FAILED)
			err = deny(why, -errno, "cannot map the trace rings: %m");
		else
			l->region = at;
	}
	if (err) {
		ktrload_free(l);
		return err;
	}
	*out = l;
	return 0;
}

void ktrload_free(struct ktrload *l)
{
	if (!l)
		return;
	ktrpin_free(&l->pin);
	detach_stops(l);
	ktrload_attach(l, 0, NULL);
	sweep_batches(l, true);
	if (l->region)
		munmap((void *)l->region, ktrregion_size(&l->layout));
	ktrace__destroy(l->skel);
	free(l);
}

int ktrload_pin(struct ktrload *l, struct reason *why)
{
	int err = ktrpin_place(&l->pin, why);

	if (err)
		return err;
	err = bpf_obj_pin(ktrload_fd(l), l->pin.path);
	if (!err)
		return 0;
	deny(why, err, "cannot pin the trace rings at %s: %s; they are reached through the daemon "
	     "only", l->pin.path, strerror(-err));
	ktrpin_free(&l->pin);
	return err;
}

int ktrload_fd(const struct ktrload *l)
{
	return bpf_map__fd(l->skel->maps.ktr_rings);
}

const struct ktr_region *ktrload_region(const struct ktrload *l)
{
	return l->region;
}

const struct ktr_layout *ktrload_layout(const struct ktrload *l)
{
	return &l->layout;
}

volatile struct ktr_control *ktrload_control(const struct ktrload *l)
{
	return &l->skel->data_ktr->ktr;
}

static int batches_order(struct ktrload *l, struct ktr_order *o)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = o, .ctx_size_in = sizeof(*o));
	int err = bpf_prog_test_run_opts(bpf_program__fd(l->skel->progs.ktr_order), &opts);

	return err ?: opts.retval ? -EIO : 0;
}

int ktrload_entry(struct ktrload *l, enum ktr_event id, uint32_t tid, const uint64_t words[5])
{
	struct ktr_order o = { .id = id, .at = tid };

	memcpy(o.words, words, 5 * sizeof(words[0]));
	return batches_order(l, &o);
}

int ktrload_put(struct ktrload *l, const void *field, const void *data, size_t n)
{
	size_t at = (size_t)((const char *)field - (const char *)l->region);
	int err = 0;

	while (!err && n) {
		struct ktr_order o = { .id = KTR_EVENTS, .at = (uint32_t)(at / KTR_ENTRY_SIZE) };
		size_t from = at % KTR_ENTRY_SIZE;
		size_t part = n < KTR_ENTRY_SIZE - from ? n : KTR_ENTRY_SIZE - from;

		memcpy(o.words, (const char *)l->region + at - from, KTR_ENTRY_SIZE);
		memcpy((char *)o.words + from, data, part);
		err = batches_order(l, &o);
		at += part;
		data = (const char *)data + part;
		n -= part;
	}
	return err;
}

int ktrload_clear(struct ktrload *l)
{
	int err = 0;

	for (unsigned int cpu = 0; !err && cpu < l->layout.ncpu; cpu++) {
		struct ktr_order o = { .id = KTR_EVENTS,
				       .at = (uint32_t)ktrregion_slot(&l->layout, cpu) };
		const struct ktr_ring ring = { .cpu = cpu };

		memcpy(o.words, &ring, sizeof(ring));
		err = batches_order(l, &o);
	}
	return err;
}
