/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmclog(3): reads the records of a log one by one.  Files are mapped, a window at a time, so that
 * memory stays flat; other descriptors are read into a buffer; fed bytes are used in place.
 * source_more() always provides contiguous bytes, and the decoder never reads beyond them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/pmc/pmc.h"
#include "lib/base/logfmt.h"
#include "lib/base/logvalues.h"
#include "pmclog.h"
#include "pmclogfields.h"

#define READ_ROOM   (512u * 1024)
#define MAP_WINDOW  (16u * 1024 * 1024)	/* a multiple of every page size */
#define NS	    1000000000ull

struct pmclog_parse_state {
	int fd;
	bool mapped, poisoned, have_init;
	bool cut;			/* the source ends inside a record */
	const uint8_t *at;		/* bytes not parsed yet … */
	size_t left;			/* … and their number */
	uint8_t *buffer;		/* READ_ROOM bytes: read ones, or a record fed in parts */
	const uint8_t *fed;		/* the rest of the fed bytes, if `at` is in the buffer */
	size_t nfed;
	void *window;
	size_t window_size;
	off_t window_end;		/* in the file */
	off_t offset;
	size_t count;
	enum logfmt format;
	uint32_t version;
	uint64_t tsc0, freq;
	struct timespec ts0;
	struct pmclogfields fields;
	char evname[PMC_NAME_MAX];
	char error[160];
};

__attribute__((format(printf, 2, 3)))
static enum pmclog_state parse_fail(struct pmclog_parse_state *ps, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ps->error, sizeof(ps->error), fmt, ap);
	va_end(ap);
	ps->poisoned = true;
	return PMCLOG_ERROR;
}

/* --- sources --------------------------------------------------------------------------------- */

/* Moves the window to the next record; the file may have grown meanwhile. */
static enum pmclog_state source_map(struct pmclog_parse_state *ps, size_t want)
{
	off_t from = ps->window_end - (off_t)ps->left, start;
	struct stat st;
	size_t size;
	void *map;

	if (fstat(ps->fd, &st))
		return parse_fail(ps, "cannot read the log: %s", strerror(errno));
	if (st.st_size - from < (off_t)want) {
		ps->cut = st.st_size > from;
		return PMCLOG_EOF;
	}
	start = from - from % MAP_WINDOW;
	size = st.st_size - start < 2 * (off_t)MAP_WINDOW ? (size_t)(st.st_size - start) :
							    2 * (size_t)MAP_WINDOW;
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, ps->fd, start);
	if (map == MAP_FAILED)
		return parse_fail(ps, "cannot map the log: %s", strerror(errno));
	if (ps->window)
		munmap(ps->window, ps->window_size);
	(void)madvise(map, size, MADV_SEQUENTIAL);
	ps->window = map;
	ps->window_size = size;
	ps->window_end = start + (off_t)size;
	ps->at = (const uint8_t *)map + (from - start);
	ps->left = (size_t)(ps->window_end - from);
	return PMCLOG_OK;
}

static void source_to_front(struct pmclog_parse_state *ps)
{
	if (ps->left)
		memmove(ps->buffer, ps->at, ps->left);
	ps->at = ps->buffer;
}

static enum pmclog_state source_read(struct pmclog_parse_state *ps, size_t want)
{
	source_to_front(ps);
	while (ps->left < want) {
		ssize_t n = read(ps->fd, ps->buffer + ps->left, READ_ROOM - ps->left);

		if (n > 0)
			ps->left += (size_t)n;
		else if (n == 0)
			break;
		else if (errno == EAGAIN)
			return PMCLOG_REQUIRE_DATA;
		else if (errno != EINTR)
			return parse_fail(ps, "cannot read the log: %s", strerror(errno));
	}
	ps->cut = ps->left && ps->left < want;
	return ps->left < want ? PMCLOG_EOF : PMCLOG_OK;
}

/* A record that is fed in parts is put together in the buffer. */
static enum pmclog_state source_feed(struct pmclog_parse_state *ps, size_t want)
{
	size_t n = want - ps->left;

	if (ps->at < ps->buffer || ps->at >= ps->buffer + READ_ROOM) {
		source_to_front(ps);
		ps->fed = NULL;
		ps->nfed = 0;
	}
	if (n > ps->nfed)
		n = ps->nfed;
	if (n) {
		memcpy(ps->buffer + ps->left, ps->fed, n);
		ps->left += n;
		ps->fed += n;
		ps->nfed -= n;
	}
	return ps->left < want ? PMCLOG_REQUIRE_DATA : PMCLOG_OK;
}

static enum pmclog_state source_more(struct pmclog_parse_state *ps, size_t want)
{
	if (ps->left >= want)
		return PMCLOG_OK;
	if (ps->mapped)
		return source_map(ps, want);
	return ps->fd >= 0 ? source_read(ps, want) : source_feed(ps, want);
}

/* The record's bytes have been used. */
static void source_consume(struct pmclog_parse_state *ps, size_t len)
{
	ps->at += len;
	ps->left -= len;
	ps->offset += (off_t)len;
	if (!ps->left && ps->nfed) {
		ps->at = ps->fed;
		ps->left = ps->nfed;
		ps->nfed = 0;
	}
}

/* --- decoding -------------------------------------------------------------------------------- */

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Text of at most n bytes that may lack its NUL. */
static void text_copy(char *to, size_t room, const uint8_t *from, size_t n)
{
	size_t len = strnlen((const char *)from, n);

	if (len >= room)
		len = room - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

static const struct logfmt_record *record_layout(const struct pmclog_parse_state *ps,
						 unsigned int number)
{
	unsigned int position = logfmt_position(ps->format, number);

	if (position >= LOGFMT_TYPES)
		return NULL;
	if (position == PMCLOG_TYPE_PROCEXEC && ps->format == LOGFMT_NEW && ps->version >> 24 < 10)
		position = LOGFMT_EXEC9;
	return logfmt_records[position].fixed[ps->format] ? &logfmt_records[position] : NULL;
}

static enum pmclog_state decode_path(struct pmclog_parse_state *ps, struct pmclog_ev *ev,
				     const struct logfmt_record *r, char *to, const uint8_t *p,
				     size_t len)
{
	/* A 32-bit kernel's addresses have 4 bytes: its path begins in our address. */
	if (r->type == PMCLOG_TYPE_MAP_IN && ps->format == LOGFMT_OLD && p[-4] == '/' &&
	    p[-1] >= ' ' && p[-1] <= '~')
		return parse_fail(ps, "this log was written by a 32-bit kernel; its addresses "
				      "cannot be read");
	if (len > PMCLOG_PATH_MAX)
		return parse_fail(ps, "a path of %zu bytes", len);
	text_copy(to, PMCLOG_PATH_MAX, p, len);
	if (r->type == PMCLOG_TYPE_MAP_IN)
		pmclognote_buildid(&ev->pl_u.pl_mi, p, len);
	else if (r == &logfmt_records[PMCLOG_TYPE_PROCEXEC] && ps->format == LOGFMT_NEW)
		pmclognote_entry(&ev->pl_u.pl_x, p, len);
	return PMCLOG_OK;
}

static enum pmclog_state decode_words(struct pmclog_parse_state *ps, struct pmclog_ev_values *v,
				      const uint8_t *p, size_t len)
{
	v->pl_nwords = (unsigned int)(len / 8);
	memcpy(v->pl_word, p, len < sizeof(v->pl_word) ? len : sizeof(v->pl_word));
	if (len % 8 || len > sizeof(v->pl_word) ||
	    !logvalues_valid(v->pl_values, v->pl_word, v->pl_nwords))
		return parse_fail(ps, "%zu bytes are not the values 0x%x of a sample", len,
				  v->pl_values);
	return PMCLOG_OK;
}

/* A field that is not in the fixed part, from the `len` bytes behind that part. */
static enum pmclog_state decode_tail(struct pmclog_parse_state *ps, struct pmclog_ev *ev,
				     const struct logfmt_record *r, const struct logfmt_field *f,
				     const uint8_t *p, size_t len)
{
	char *to = (char *)ev + f->ev;

	switch (f->kind) {
	case LOGFMT_PATH:
		return decode_path(ps, ev, r, to, p, len);
	case LOGFMT_CHAIN:
		if (len % 8)
			return parse_fail(ps, "a call chain of %zu bytes; its addresses have 8 "
					  "each", len);
		if (len / 8 > PMC_CALLCHAIN_DEPTH_MAX)
			return parse_fail(ps,
					  "a call chain of %zu addresses; at most %d are allowed",
					  len / 8, PMC_CALLCHAIN_DEPTH_MAX);
		ev->pl_u.pl_cc.pl_npc = (int)(len / 8);
		memcpy(to, p, len);
		break;
	case LOGFMT_WORDS:
		return decode_words(ps, &ev->pl_u.pl_v, p, len);
	case LOGFMT_MORE:
		memset(to, 0, 8);
		if (len >= 8)
			memcpy(to, p, 8);
		break;
	default:
		break;
	}
	return PMCLOG_OK;
}

/* Numbers are copied; one that the format lacks is 0. */
static enum pmclog_state decode_fields(struct pmclog_parse_state *ps, struct pmclog_ev *ev,
				       const struct logfmt_record *r, const uint8_t *p, size_t len)
{
	enum pmclog_state state = PMCLOG_OK;
	size_t fixed = r->fixed[ps->format];

	for (const struct logfmt_field *f = r->field; f->kind && state == PMCLOG_OK; f++) {
		char *to = (char *)ev + f->ev;
		unsigned int at = f->at[ps->format];

		if (!f->size)
			state = decode_tail(ps, ev, r, f, p + fixed, len - fixed);
		else if (f->kind == LOGFMT_TEXT)
			text_copy(to, f->room, p + at, at ? f->size : 0);
		else if (!at)
			memset(to, 0, f->size);
		else if (f->size == 4)
			memcpy(to, p + at, 4);
		else
			memcpy(to, p + at, 8);
	}
	return state;
}

/* The time of day, from the log's clock and INITIALIZE, which has both. */
static void decode_time(const struct pmclog_parse_state *ps, struct pmclog_ev *ev)
{
	int64_t ticks = (int64_t)(ev->pl_tsc - ps->tsc0), sec, nsec;

	if (ps->freq == NS) {
		sec = ticks / (int64_t)NS;
		nsec = ticks % (int64_t)NS;
	} else {
		sec = ticks / (int64_t)ps->freq;
		nsec = (int64_t)((__int128)(ticks % (int64_t)ps->freq) * (int64_t)NS /
				 (int64_t)ps->freq);
	}
	/* With a slow clock a hostile log may claim any time. */
	if (__builtin_add_overflow(sec, ps->ts0.tv_sec, &sec))
		sec = INT64_MAX - 1;
	nsec += ps->ts0.tv_nsec;
	if (nsec < 0)
		sec--, nsec += (int64_t)NS;
	else if (nsec >= (int64_t)NS)
		sec++, nsec -= (int64_t)NS;
	ev->pl_ts.tv_sec = sec;
	ev->pl_ts.tv_nsec = nsec;
}

static void decode_prefix(const struct pmclog_parse_state *ps, struct pmclog_ev *ev,
			  const uint8_t *p)
{
	if (ps->format == LOGFMT_OLD) {
		ev->pl_ts.tv_sec = get32(p + 4);
		ev->pl_ts.tv_nsec = get32(p + 8) % NS;
		ev->pl_tsc = (uint64_t)ev->pl_ts.tv_sec * NS + (uint64_t)ev->pl_ts.tv_nsec;
	} else {
		ev->pl_tsc = get64(p + 8);
		decode_time(ps, ev);
	}
}

static enum pmclog_state decode_initialize(struct pmclog_parse_state *ps, struct pmclog_ev *ev)
{
	struct pmclog_ev_initialize *i = &ev->pl_u.pl_i;

	ps->version = i->pl_version;
	ps->have_init = true;
	if (ps->format == LOGFMT_OLD) {
		i->pl_tsc_freq = NS;
		i->pl_ts = ev->pl_ts;
		return PMCLOG_OK;
	}
	if (!i->pl_tsc_freq || i->pl_tsc_freq > INT64_MAX || i->pl_ts.tv_sec < 0 ||
	    i->pl_ts.tv_sec > (int64_t)1 << 40 || (uint64_t)i->pl_ts.tv_nsec >= NS)
		return parse_fail(ps, "the log's clock makes no sense: %llu ticks a second",
				  (unsigned long long)i->pl_tsc_freq);
	ps->freq = i->pl_tsc_freq;
	ps->tsc0 = ev->pl_tsc;
	ps->ts0 = i->pl_ts;
	ev->pl_ts = i->pl_ts;
	return PMCLOG_OK;
}

/* Members that do not follow from the layout alone. */
static enum pmclog_state decode_rest(struct pmclog_parse_state *ps, struct pmclog_ev *ev,
				     const uint8_t *p, size_t len)
{
	struct pmclog_ev_pmcallocatedyn *d = &ev->pl_u.pl_ad;
	struct pmclog_ev_values *v = &ev->pl_u.pl_v;
	int err;

	switch (ev->pl_type) {
	case PMCLOG_TYPE_INITIALIZE:
		return decode_initialize(ps, ev);
	case PMCLOG_TYPE_PMCALLOCATE:
		/* Numbers depend on the writing machine; pmcbpfd writes names, in DYN records. */
		snprintf(ps->evname, sizeof(ps->evname), "event-0x%x", ev->pl_u.pl_a.pl_event);
		ev->pl_u.pl_a.pl_evname = ev->pl_u.pl_a.pl_event == PMC_EV_TSC_TSC ? "TSC" :
										      ps->evname;
		break;
	case PMCLOG_TYPE_PMCALLOCATEDYN:
		/* FreeBSD 12 to 15 put the period where the name belongs, the name behind it. */
		if (ps->format == LOGFMT_NEW && (p[32] < ' ' || p[32] > '~')) {
			text_copy(d->pl_evname, sizeof(d->pl_evname), p + 40, len - 40);
			d->pl_rate = get64(p + 32);
		}
		pmclogfields_forget(&ps->fields, d->pl_pmcid);
		break;
	case PMCLOG_TYPE_FIELD:
		err = pmclogfields_add(&ps->fields, &ev->pl_u.pl_fd);
		if (err)
			return parse_fail(ps, err == -ENOMEM ? "no memory for fields" :
					  "more fields of tracepoints than a log can have");
		break;
	case PMCLOG_TYPE_VALUES:
		v->pl_field = pmclogfields_of(&ps->fields, v->pl_pmcid, &v->pl_nfields);
		break;
	case PMCLOG_TYPE_PROCEXEC:
		if (ps->format == LOGFMT_OLD || ps->version >> 24 < 10) {
			ev->pl_u.pl_x.pl_baseaddr = ev->pl_u.pl_x.pl_entryaddr;
			ev->pl_u.pl_x.pl_dynaddr = 0;
		}
		break;
	case PMCLOG_TYPE_CALLCHAIN:
		ev->pl_u.pl_cc.pl_cpuflags2 = 0;
		break;
	default:
		break;
	}
	return PMCLOG_OK;
}

static enum pmclog_state decode_record(struct pmclog_parse_state *ps, struct pmclog_ev *ev,
				       const uint8_t *p, size_t len)
{
	unsigned int type = PMCLOG_HEADER_TO_TYPE(get32(p));
	const struct logfmt_record *r = record_layout(ps, type);
	enum pmclog_state state;

	if (!r)
		return parse_fail(ps, "a record of unknown type %u", type);
	if (len < r->fixed[ps->format])
		return parse_fail(ps, "a record of type %u has %zu bytes, not %u%s", type, len,
				  r->fixed[ps->format],
				  ps->format == LOGFMT_OLD && type == 15 && len == 24 ?
				  ": this log was written by a 32-bit kernel" : "");
	if (!ps->have_init && r->type != PMCLOG_TYPE_INITIALIZE)
		return parse_fail(ps, "the log does not begin with its INITIALIZE record");
	ev->pl_type = r->type;
	decode_prefix(ps, ev, p);
	state = decode_fields(ps, ev, r, p, len);
	return state == PMCLOG_OK ? decode_rest(ps, ev, p, len) : state;
}

/* The log's format, from its first word. */
static enum pmclog_state format_recognize(struct pmclog_parse_state *ps, uint32_t header)
{
	char text[5] = "";

	if (header == PMCLOG_HEADER(3, 112)) {
		ps->format = LOGFMT_NEW;
		return PMCLOG_OK;
	}
	if (header == PMCLOG_HEADER(2, 20)) {
		ps->format = LOGFMT_OLD;
		return PMCLOG_OK;
	}
	if ((header & 0xff) == PMCLOG_HEADER_MAGIC && !PMCLOG_HEADER_CHECK_MAGIC(header))
		return parse_fail(ps, "this log was written by a machine of the other byte order");
	if (PMCLOG_HEADER_CHECK_MAGIC(header) && (PMCLOG_HEADER_TO_TYPE(header) == 2 ||
						  PMCLOG_HEADER_TO_TYPE(header) == 3))
		return parse_fail(ps,
				  "the log's format is an interim one of 2018 and not supported");
	memcpy(text, &header, 4);
	if (!strcmp(text, "PERF"))
		return parse_fail(ps, "this is a perf.data file, not a log of pmcbpf: perf report "
				      "reads it");
	return parse_fail(ps, "this is no log: it begins with 0x%08x", header);
}

/* --- the interface --------------------------------------------------------------------------- */

static enum pmclog_state record_next(struct pmclog_parse_state *ps, struct pmclog_ev *ev)
{
	enum pmclog_state state;
	const uint8_t *record;
	uint32_t header;
	size_t len;

	if (ps->poisoned)
		return PMCLOG_ERROR;
	state = source_more(ps, sizeof(header));
	if (state == PMCLOG_EOF && ps->cut)
		return parse_fail(ps, "the log ends in the middle of a record");
	if (state == PMCLOG_EOF && !ps->have_init)
		return parse_fail(ps, "the log is empty");
	if (state != PMCLOG_OK)
		return state;
	header = get32(ps->at);
	if (!ps->have_init) {
		state = format_recognize(ps, header);
		if (state != PMCLOG_OK)
			return state;
	}
	len = PMCLOG_HEADER_TO_LENGTH(header);
	if (!PMCLOG_HEADER_CHECK_MAGIC(header))
		return parse_fail(ps, "0x%08x where a record should begin", header);
	if (len % 4 || len < logfmt_prefix(ps->format))
		return parse_fail(ps, "a record of %zu bytes", len);
	state = source_more(ps, len);
	if (state == PMCLOG_EOF)
		return parse_fail(ps, "the log ends in the middle of a record");
	if (state != PMCLOG_OK)
		return state;
	record = ps->at;
	state = decode_record(ps, ev, record, len);
	if (state != PMCLOG_OK)
		return state;
	ev->pl_data = (void *)record;
	ev->pl_len = (int)len;
	source_consume(ps, len);
	if (ev->pl_type == PMCLOG_TYPE_CLOSELOG && ps->format == LOGFMT_NEW)
		return PMCLOG_EOF;
	ps->count++;
	return PMCLOG_OK;
}

PMC_API_PUBLIC int pmclog_read(void *cookie, struct pmclog_ev *ev)
{
	struct pmclog_parse_state *ps = cookie;

	ev->pl_state = record_next(ps, ev);
	ev->pl_offset = ps->offset;
	ev->pl_count = ps->count;
	return ev->pl_state == PMCLOG_OK ? 0 : -1;
}

const char *pmclog_keep_name(void *cookie, const char *name)
{
	struct pmclog_parse_state *ps = cookie;

	snprintf(ps->evname, sizeof(ps->evname), "%s", name);
	return ps->evname;
}

PMC_API_PUBLIC int pmclog_feed(void *cookie, char *data, int len)
{
	struct pmclog_parse_state *ps = cookie;

	if (len < 0 || !data || ps->fd >= 0 || ps->poisoned || ps->nfed)
		return -1;
	/* The rest must be the beginning of a record, in the buffer. */
	if (ps->left && (ps->at < ps->buffer || ps->at >= ps->buffer + READ_ROOM))
		return -1;
	if (ps->left) {
		ps->fed = (const uint8_t *)data;
		ps->nfed = (size_t)len;
	} else {
		ps->at = (const uint8_t *)data;
		ps->left = (size_t)len;
	}
	return 0;
}

PMC_API_PUBLIC void *pmclog_open(int fd)
{
	struct pmclog_parse_state *ps = calloc(1, sizeof(*ps));
	struct stat st;
	off_t at;

	if (!ps)
		return NULL;
	ps->fd = fd < 0 ? -1 : fd;
	ps->freq = NS;
	at = fd < 0 ? -1 : lseek(fd, 0, SEEK_CUR);
	ps->mapped = at >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
	ps->window_end = ps->mapped ? at : 0;
	if (!ps->mapped) {
		ps->buffer = malloc(READ_ROOM);
		if (!ps->buffer) {
			free(ps);
			errno = ENOMEM;
			return NULL;
		}
		ps->at = ps->buffer;
	}
	return ps;
}

PMC_API_PUBLIC void pmclog_close(void *cookie)
{
	struct pmclog_parse_state *ps = cookie;

	if (!ps)
		return;
	if (ps->window)
		munmap(ps->window, ps->window_size);
	free(ps->buffer);
	pmclogfields_free(&ps->fields);
	free(ps);
}

PMC_API_PUBLIC const char *pmclog_errstr(void *cookie)
{
	const struct pmclog_parse_state *ps = cookie;

	return ps->error;
}
