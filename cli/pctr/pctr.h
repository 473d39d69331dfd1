/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pctr(1): reads and sets the counters of pctr(4).
 *
 * The pure part knows CPUs and their events: amd.c, core2.c, p6.c and arch.c have the tables of
 * events, model.c chooses one by CPUID, word.c turns function words into text and back.  args.c
 * parses the command line, device.c uses the device through libpctr.  Single-threaded.
 */
#ifndef PMCBPF_CLI_PCTR_H
#define PMCBPF_CLI_PCTR_H

#include <machine/pctr.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"

/* An event of a CPU, by vendors' manuals. */
enum pctr_event_flags {
	PCTR_MESI = 1 << 0,	/* its unit mask selects lines by state */
	PCTR_AGENTS = 1 << 1,	/* … or includes other agents of the bus */
	PCTR_CTR0 = 1 << 2,	/* in counter 0 only */
	PCTR_CTR1 = 1 << 3,
	PCTR_UNIT = 1 << 4,	/* needs a unit mask */
	PCTR_ONE_UNIT = 1 << 5,	/* … and this entry is for `unit` only */
};
struct pctr_event {
	uint8_t event, flags, unit;
	const char *name, *text;
};

struct pctr_table {
	const struct pctr_event *events;
	size_t n;
};
/* Each in a file of its own, or with its like. */
extern const struct pctr_table pctr_p6, pctr_core2, pctr_intel, pctr_k8, pctr_zen, pctr_arm;

struct pctr_model {
	const char *name;
	const char *letters;	/* options that make up a function */
	const char *usage;
	unsigned int counters;
	bool named;		/* a reading names the event */
	bool complete;		/* the table has all events there are */
	const struct pctr_table *table;
};

/* The model of a CPU, by vendor and signature of CPUID; for ARM, vendor "ARM". */
const struct pctr_model *pctr_model(const char *vendor, uint32_t id);

/* The event of a function word, NULL if there is no name for it. */
const struct pctr_event *pctr_event_find(const struct pctr_model *model, uint32_t function);

/* Appends the list of `pctr -l`. */
void pctr_event_put(struct buf *out, const struct pctr_event *event);

/* The options for a function word, as given: bits of PCTR_U … and PCTR_UM_…. */
struct pctr_choice {
	uint32_t event, unit, threshold;
	uint32_t flags;		/* PCTR_U, _K, _E, _I */
	uint32_t lines;		/* PCTR_UM_M, _E, _S, _I, or _A */
	bool has_unit;		/* -m was given */
};

/* The word, 0 for event 0 alone.  -ENOENT: no such event; -EINVAL: it needs a unit mask. */
int pctr_word(const struct pctr_model *model, const struct pctr_choice *choice, uint32_t *function);

/* Appends the text of a word in a reading, between its brackets. */
void pctr_word_put(struct buf *out, const struct pctr_model *model, uint32_t function);

/* Appends a whole reading, with so many counters. */
void pctr_reading_put(struct buf *out, const struct pctr_model *model, const struct pctrst *state,
		      unsigned int counters);

/* The model's counters, and those beyond that are set. */
unsigned int pctr_counters(const struct pctr_model *model, const struct pctrst *state);

/* Hexadecimal, 0 to ff.  0 or -EINVAL. */
int pctr_byte(const char *text, uint32_t *value);

/* --- the command line ------------------------------------------------------------------------ */

#define FAILED 1	/* OpenBSD's program knows no other status */

struct pctr {
	const struct pctr_model *model;
	struct pctr_choice choice;
	bool function, list, test, all;	/* function: an option that makes one up */
	int ctr, cpu;		/* -1: none */
	double every;		/* seconds; 0: once */
};

/* 0, or an exit code and its line; *ended: nothing is left to do (--help). */
int pctr_parse(struct pctr *pctr, int argc, char *argv[], bool *ended);

/* Each returns an exit code, and has printed its line. */
int pctr_list(const struct pctr_model *model);
int pctr_set(const struct pctr *pctr);
int pctr_show(const struct pctr *pctr);
int pctr_test(void);

#endif
