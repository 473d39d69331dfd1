/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes pmclog(3): the input is a log, read once whole and once in pieces of a size that its
 * length chooses.  Both must deliver the same records, and none may reach beyond the input; each
 * has an object in JSON that fits.
 */
#include <stdlib.h>
#include <string.h>

#include <pmcformat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pmclog_ev ev;
static char json[PMCLOG_JSON_MAX];

static uint64_t mix(uint64_t sum, uint64_t v)
{
	return (sum ^ v) * 0x100000001b3ull;
}

/* A hash of everything that was delivered so far. */
static uint64_t taste(uint64_t sum)
{
	sum = mix(sum, ev.pl_type);
	sum = mix(sum, ev.pl_tsc);
	sum = mix(sum, (uint64_t)ev.pl_ts.tv_nsec);
	if (ev.pl_type == PMCLOG_TYPE_CALLCHAIN)
		for (int i = 0; i < ev.pl_u.pl_cc.pl_npc; i++)
			sum = mix(sum, ev.pl_u.pl_cc.pl_pc[i]);
	if (ev.pl_type == PMCLOG_TYPE_MAP_IN)
		sum = mix(sum, strlen(ev.pl_u.pl_mi.pl_pathname));
	if (ev.pl_type == PMCLOG_TYPE_PMCALLOCATE)
		sum = mix(sum, strlen(ev.pl_u.pl_a.pl_evname));
	if (pmclog_json(&ev, json, sizeof(json)) >= sizeof(json))
		abort();
	for (const char *c = json; *c; c++)
		sum = mix(sum, (unsigned char)*c);
	return mix(sum, (uint64_t)ev.pl_offset);
}

static uint64_t read_log(const uint8_t *data, size_t size, size_t piece)
{
	void *parser = pmclog_open(PMCLOG_FD_NONE);
	uint64_t sum = 0;
	size_t at = 0;

	while (parser) {
		size_t n = size - at < piece ? size - at : piece;
		char *copy;

		if (!pmclog_read(parser, &ev)) {
			sum = taste(sum);
			continue;
		}
		if (ev.pl_state == PMCLOG_EOF)
			continue;
		if (ev.pl_state != PMCLOG_REQUIRE_DATA || !n)
			break;
		copy = malloc(n);
		memcpy(copy, data + at, n);
		at += n;
		if (pmclog_feed(parser, copy, (int)n))
			abort();
		/* Consumed before the copy is freed, as the rules of pmclog_feed() require. */
		while (!pmclog_read(parser, &ev) || ev.pl_state == PMCLOG_EOF)
			if (ev.pl_state == PMCLOG_OK)
				sum = taste(sum);
		free(copy);
		if (ev.pl_state == PMCLOG_ERROR)
			break;
	}
	if (ev.pl_offset > (off_t)size)
		abort();
	pmclog_close(parser);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && read_log(data, size, size) != read_log(data, size, 1 + size % 61))
		abort();
	return 0;
}
