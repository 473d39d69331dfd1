/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of a profile and the weight of their samples. */
#ifndef PMCBPF_CLI_REPORT_EVENT_H
#define PMCBPF_CLI_REPORT_EVENT_H

#include "report.h"

/* PMCs of one event are shown as one, under the number of the first. */
uint32_t event_first(const struct profile *p, uint32_t event);
/* Samples of all PMCs of the event `first`; of a PMC that is not the first of its event, 0. */
uint64_t event_total(const struct profile *p, uint32_t first);
/* Events that have samples. */
size_t event_count(const struct profile *p);

/*
 * The weight of samples of an event, by its period: nanoseconds of a clock, or events; INT64_MAX
 * at most.  0: the log has no period.
 */
uint64_t event_weight(const struct walk_event *event, uint64_t samples);
/* The word for the unit of tallies: samples, or where they have a weight, events, ticks or ns. */
const char *event_unit(const struct profile *p, uint32_t first);
/* … of all events together, which is samples or ns if there are several; NULL: they have none. */
const char *event_unit_of_all(const struct profile *p);
/* What that unit stands for, as the end of a line: ", one every 10"; "": nothing else is known. */
void event_put_period(struct buf *out, const struct profile *p, uint32_t first);
bool event_is_clock(const struct walk_event *event);

#endif
