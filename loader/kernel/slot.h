/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One counter of hits: the program that counts a tracepoint, and samples it.  tracepoints.c has the
 * table of them.
 */
#ifndef PMCBPF_SLOT_H
#define PMCBPF_SLOT_H

#include "lib/base/wire.h"
#include "probes.h"
#include "tracefs.h"
#include "tracepoints.h"

struct bpf_link;
struct hit_spec;
struct slot_bpf;

/* The program that counts a tracepoint. */
enum slot_way {
	SLOT_OWN,		/* an instance of slot.bpf.c … */
	SLOT_CALL,		/* … on a system call's event, which stays while it is attached … */
	SLOT_RECORD,		/* … or on another one, because it needs the record */
	SLOT_ENTER, SLOT_EXIT,	/* the program of all system calls */
	SLOT_SWITCH,		/* the program of context switches */
	SLOT_PROBE,		/* the programs of probes in user code */
};

/*
 * A counter.  Its tracepoint and its loaded program stay until another tracepoint needs the
 * counter, so that the next PMC of the same tracepoint waits for nothing.
 */
struct slot {
	char name[WIRE_NAME_MAX];	/* "": never used */
	unsigned int users;
	bool samples;			/* its own program samples the hits, too … */
	char filter[WIRE_FILTER_MAX];	/* … and counts only those that pass this … */
	bool raw;			/* … and copies their records: … */
	struct hit_spec *compiled;	/* … NULL: all hits, without records */
	bool attached;
	enum slot_way way;
	uint64_t id;			/* perf's number of the tracepoint */
	uint32_t call;			/* SLOT_ENTER, SLOT_EXIT: the system call's number */
	struct slot_bpf *skel;		/* an instance; NULL: not loaded, or … */
	struct hit_sampler *sampler;	/* … this, if it samples */
	struct bpf_link *link;
	int call_link;			/* on an event, while attached: a descriptor */
	struct probe *probe;		/* SLOT_PROBE, while it is attached … */
	struct probe_id id_probe;	/* … and its identity */
	int64_t since;			/* users == 0: from this time on, ms */
};

struct tracepoints {
	struct engine *e;
	struct helpers *helpers;	/* NULL while the daemon starts */
	struct slot slot[ABI_TRACEPOINTS];
	struct tracefs_list list;
};

unsigned int slot_number(const struct tracepoints *t, const struct slot *s);
/* Its program is at perf's event. */
bool slot_on_event(const struct slot *s);
/* Notes the tracepoint, with what its perf event has of its hits. */
void slot_name(struct slot *s, const char *name, const struct perf_event_spec *spec);
/* Finds the program for the tracepoint: -ENOSYS: none. */
int slot_learn(struct tracepoints *t, struct slot *s, const struct perf_event_spec *spec,
	       struct reason *why);
int slot_compile(const struct tracepoints *t, struct slot *s, struct reason *why);
/* tracepoints_prepare(), for a tracepoint that no slot samples. */
bool slot_prepare(struct tracepoints *t, const char *name, const struct perf_event_spec *spec,
		  uint64_t *user);
/* -ENOSYS: the kernel lacks what that needs. */
int slot_attach(struct tracepoints *t, struct slot *s, const struct perf_event_spec *spec,
		struct reason *why);
void slot_detach(struct tracepoints *t, struct slot *s);
void slot_unload(struct tracepoints *t, struct slot *s);
/* At the end of the daemon; the slot itself is the table's. */
void slot_free(struct tracepoints *t, struct slot *s);

#endif
