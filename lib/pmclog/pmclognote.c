/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes behind the paths of records, as ELF files have them. */
#include <string.h>

#include "lib/base/logfmt.h"
#include "pmclog.h"

/* The contents of a note behind a path; NULL: there is no such note. */
static const uint8_t *note_find(const uint8_t *p, size_t len, uint32_t name, uint32_t type,
				uint32_t *size)
{
	size_t at = (strnlen((const char *)p, len) + 4) / 4 * 4;
	uint32_t word[4];

	if (len < at || len - at < sizeof(word))
		return NULL;
	memcpy(word, p + at, sizeof(word));
	*size = word[1];
	return word[0] == 4 && word[2] == type && word[3] == name &&
	       word[1] <= len - at - sizeof(word) ? p + at + sizeof(word) : NULL;
}

void pmclognote_buildid(struct pmclog_ev_map_in *mi, const uint8_t *p, size_t len)
{
	uint32_t size;
	const uint8_t *id = note_find(p, len, LOGFMT_NOTE_NAME, LOGFMT_NOTE_TYPE, &size);

	mi->pl_buildidlen = 0;
	if (!id || !size || size > PMCLOG_BUILDID_MAX)
		return;
	mi->pl_buildidlen = size;
	memcpy(mi->pl_buildid, id, size);
}

/* Logs of earlier releases, and FreeBSD's, have no such note: pl_baseaddr stands for it. */
void pmclognote_entry(struct pmclog_ev_procexec *x, const uint8_t *p, size_t len)
{
	uint32_t size;
	const uint8_t *entry = note_find(p, len, LOGFMT_ENTRY_NAME, LOGFMT_ENTRY_TYPE, &size);
	uint64_t address = x->pl_baseaddr;

	if (entry && size == sizeof(address))
		memcpy(&address, entry, sizeof(address));
	x->pl_entryaddr = address;
}
