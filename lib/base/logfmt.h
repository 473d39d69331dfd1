/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of a log, written down once.  Each record is a row of logfmt_records[]: its name, its
 * length in both formats, and its fields.  A field has a kind, a place in either format, a member
 * of struct pmclog_ev and a key.  All code that depends on a record's layout follows the table:
 *
 *   the reader	   lib/pmclog/pmclog.c		bytes to struct pmclog_ev
 *   the writer	   loader/log/logrec.c		struct pmclog_ev to bytes
 *   JSON	   lib/pmclog/pmclogjson.c	an object: every field with a key, in this order
 *   text	   cli/log/logtext.c		FreeBSD's line: a tag, and the fields in `columns`
 *   PID namespaces  loader/log/lognumbers.c	the fields that hold a process or a thread
 *
 * pmc filter copies records whole.  A number has as many bytes in a record as in struct pmclog_ev,
 * little-endian or big-endian as the machine is; nothing in a record is aligned to more than 4
 * bytes.  Example: MAP_IN in today's format has 32 bytes, among them pl_pid at byte 16 and pl_start
 * at byte 24; its path follows, and behind the path perhaps the build id as an ELF note.
 *
 * A new field needs an entry here and nothing else, unless its kind is new.
 */
#ifndef PMCBPF_LOGFMT_H
#define PMCBPF_LOGFMT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <pmclog.h>

enum logfmt {
	LOGFMT_OLD,			/* FreeBSD 6 to 11: second and nanosecond in each record */
	LOGFMT_NEW,			/* since late 12: a time stamp counter */
	LOGFMTS
};
#define LOGFMT_OLD_PREFIX 12u		/* bytes of header word and time */
#define LOGFMT_NEW_PREFIX 16u
#define LOGFMT_OLD_VERSION 0x03010000u
#define LOGFMT_NEW_VERSION 0x0A000000u

#define LOGFMT_TYPES	  81u		/* type numbers are below */
#define LOGFMT_EXEC9	  LOGFMT_TYPES	/* PROCEXEC of major 9: one address instead of two */
#define LOGFMT_FIELDS	  8u		/* and the end */
#define LOGFMT_MAX_RECORD 65532u	/* a 16-bit length, rounded down to words */

/*
 * Behind the path of a MAP_IN, and its padding: a note as ELF files have it (words: bytes of the
 * name, bytes of the id, type; "GNU"; the id).  Readers that know no such thing end at the NUL.
 */
#define LOGFMT_NOTE	 16u		/* bytes before the id */
#define LOGFMT_NOTE_NAME 0x00554e47u	/* "GNU" */
#define LOGFMT_NOTE_TYPE 3u		/* NT_GNU_BUILD_ID */

/* Behind the path of a PROCEXEC of today's format: such a note, "PMC", with pl_entryaddr. */
#define LOGFMT_ENTRY_NAME 0x00434d50u	/* "PMC" */
#define LOGFMT_ENTRY_TYPE 1u

enum logfmt_kind {
	LOGFMT_END,			/* of the fields */
	/* Numbers: 4 or 8 bytes. */
	LOGFMT_HEX,			/* a PMC, flags, … */
	LOGFMT_PID,			/* a process */
	LOGFMT_TID,			/* a thread */
	LOGFMT_BORN,			/* a process or thread, in its first record */
	LOGFMT_MODE,			/* 0: the kernel's code, else the program's */
	LOGFMT_CPUTYPE,			/* enum pmc_cputype */
	LOGFMT_COUNT,
	LOGFMT_ADDRESS,
	/* Text of a fixed length, which may lack its NUL. */
	LOGFMT_TEXT,
	/* Behind the fixed part; a record has one of these at most. */
	LOGFMT_PATH,			/* text with its NUL, padded to a multiple of 4 */
	LOGFMT_CHAIN,			/* addresses of 8 bytes */
	LOGFMT_WORDS,			/* of values: logvalues.h */
	LOGFMT_MORE,			/* 8 bytes, or nothing for 0; FreeBSD ends before them */
	/* Not a field of the record: the reader finds it elsewhere. */
	LOGFMT_STRING,			/* const char * */
	LOGFMT_BUILDID,			/* of struct pmclog_ev_map_in */
};

struct logfmt_field {
	const char *key;		/* in JSON; NULL: not there */
	uint8_t kind;			/* enum logfmt_kind */
	uint8_t size;			/* bytes in the record's fixed part; 0: not in it */
	uint8_t at[LOGFMTS];		/* place in the record; 0: the format has no such field */
	uint16_t ev;			/* place in struct pmclog_ev … */
	uint16_t room;			/* … and bytes there */
};

struct logfmt_record {
	const char *name;		/* in JSON; NULL: an object without a type */
	const char *tag;		/* in text */
	const char *columns;		/* digits: the positions in `field` of a line's fields */
	uint8_t type;			/* enum pmclog_type */
	uint8_t fixed[LOGFMTS];		/* bytes before the tail; 0: not in this format */
	struct logfmt_field field[LOGFMT_FIELDS];
};

/* Indexed by enum pmclog_type; element 0 is MAPPINGCHANGE, which has a number far higher. */
extern const struct logfmt_record logfmt_records[LOGFMT_TYPES + 1];

/* The record of a type that has a name; NULL: there is none. */
static inline const struct logfmt_record *logfmt_find(enum pmclog_type type)
{
	return (unsigned int)type < LOGFMT_TYPES && logfmt_records[type].name ?
		       &logfmt_records[type] : NULL;
}

/* The first types have other numbers in an old log: from a number in a log to a position. */
static inline unsigned int logfmt_position(enum logfmt format, unsigned int number)
{
	if (format == LOGFMT_NEW || number > 3)
		return number;
	return number == 3 ? 0 : number + 1;
}

/* The reverse. */
static inline unsigned int logfmt_number(enum logfmt format, unsigned int position)
{
	if (format == LOGFMT_NEW || position > 3)
		return position;
	return position ? position - 1 : 3;
}

/* A field that is a number, without its sign; 0 of any other. */
static inline uint64_t logfmt_value(const struct logfmt_field *f, const struct pmclog_ev *ev)
{
	const char *from = (const char *)ev + f->ev;
	uint32_t word = 0;
	uint64_t value = 0;

	if (f->size == sizeof(value) || f->kind == LOGFMT_MORE)
		memcpy(&value, from, sizeof(value));
	else if (f->size == sizeof(word))
		memcpy(&word, from, sizeof(word));
	return value | word;
}

static inline size_t logfmt_prefix(enum logfmt format)
{
	return format == LOGFMT_OLD ? LOGFMT_OLD_PREFIX : LOGFMT_NEW_PREFIX;
}

#endif
