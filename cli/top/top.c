/* SPDX-License-Identifier: BSD-2-Clause */
/* The live view of a log: see top.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmclog.h>

#include "cli/analysis/analysis.h"
#include "cli/common/common.h"
#include "cli/log/log.h"
#include "keys.h"
#include "screen.h"
#include "tap.h"
#include "top.h"

#define THRESHOLD 0.5	/* percent */

struct top {
	struct symbols *symbols;
	struct profile *profile;	/* counts the current period, or all since the start */
	struct profile counts;		/* the last period; only its counts are used */
	struct tap *tap;
	void *parser;
	struct pmclog_ev *ev;
	uint64_t fed;			/* bytes of the log */
	struct screen *screen;		/* NULL: plain text */
	struct picture picture;
	struct keys keys;
	int fd;				/* of the log */
	bool whole;			/* the log is a file: one period */
	bool drawn;			/* a period has been looked at */
	bool printed;			/* as plain text */
	bool ended;			/* the log has ended */
	bool kept;			/* the view stays after the end, until a key ends it */
};

/* --- the log ---------------------------------------------------------------------------------- */

static int top_read_records(struct top *t)
{
	struct pmclog_ev *ev = t->ev;
	int code = 0;

	while (!code) {
		ev->pl_type = PMCLOG_TYPE_MAPPINGCHANGE;
		/* As log_pass() does, but from bytes that are fed. */
		if (pmclog_read(t->parser, ev) != 0 && (ev->pl_state != PMCLOG_EOF ||
							ev->pl_type != PMCLOG_TYPE_CLOSELOG))
			break;
		code = profile_record(t->profile, ev);
	}
	return code ? code : log_damage(t->parser, ev);
}

/* Every fed byte must belong to a whole record by now. */
static int top_check_end(const struct top *t)
{
	if (t->fed && t->fed == (uint64_t)t->ev->pl_offset)
		return 0;
	return fail(EX_DATAERR, "ERROR: event parsing failed (record %zu, offset 0x%jx): %s.",
		    t->ev->pl_count + 1, (intmax_t)t->ev->pl_offset,
		    t->fed ? "the log ends in the middle of a record" : "the log is empty");
}

/* Reads the tap's data.  From here on a full tap holds the daemon up, which then logs a gap. */
static int top_take(struct top *t)
{
	char *data;
	int err, code = 0;
	size_t len = tap_take(t->tap, &data, &err);

	tap_hold(t->tap, true);
	t->fed += len;
	if (len && pmclog_feed(t->parser, data, (int)len) != 0)
		code = fail(EX_SOFTWARE, "ERROR: the log's reader takes no more bytes");
	if (len && !code)
		code = top_read_records(t);
	if (!code && err > 0) {
		errno = err;
		code = fail_errno(EX_OSERR, "ERROR: cannot read the log");
	}
	t->ended = code || err >= 0;
	return t->ended && !code ? top_check_end(t) : code;
}

/* --- periods ---------------------------------------------------------------------------------- */

/* Copies the counts for the view; unless samples add up, counting starts anew. */
static int top_end_period(struct top *t)
{
	const struct profile *now = t->profile;
	size_t tallies, events;
	struct tally *tally;
	uint64_t *event;

	profile_settle(t->profile);
	tallies = now->ntallies * sizeof(*now->tallies);
	events = now->nevents * sizeof(*now->event_samples);
	tally = malloc(tallies + 1);
	event = malloc(events + 1);
	if (!tally || !event) {
		free(tally);
		free(event);
		return fail_errno(EX_OSERR, "ERROR");
	}
	if (tallies)
		memcpy(tally, now->tallies, tallies);
	if (events)
		memcpy(event, now->event_samples, events);
	free(t->counts.tallies);
	free(t->counts.event_samples);
	t->counts = *now;
	t->counts.tallies = tally;
	t->counts.event_samples = event;
	t->drawn = true;
	if (!t->keys.sums && !t->whole)
		profile_clear(t->profile);
	return 0;
}

/* The last period's counts, with all names that the log has given so far. */
static struct profile top_looked_at(struct top *t)
{
	struct profile p;

	profile_settle(t->profile);
	p = *t->profile;
	p.tallies = t->counts.tallies;
	p.ntallies = t->counts.ntallies;
	p.event_samples = t->counts.event_samples;
	p.nevents = t->counts.nevents;
	p.samples = t->counts.samples;
	return p;
}

/* --- pictures --------------------------------------------------------------------------------- */

/* Line 2. */
static const char *top_remark(const struct top *t, char room[static 64])
{
	const struct walk_stats *stats = walk_stats(t->profile->walk);
	uint64_t gaps = stats->drops;

	if (t->keys.echo[0])
		return t->keys.echo;
	if (stats->lost)
		snprintf(room, 64, "At least %" PRIu64 " records are missing so far", stats->lost);
	else if (gaps)
		snprintf(room, 64, "Samples are missing: %" PRIu64 " gap%s so far", gaps,
			 gaps == 1 ? "" : "s");
	else if (stats->ends.cut)
		snprintf(room, 64, "Call chains that are cut: %" PRIu64 " of %" PRIu64 " samples",
			 stats->ends.cut, stats->passed);
	else if (t->kept && t->ended)
		return "The end of the log; q quits";
	else
		return "";
	return room;
}

static int top_show(struct top *t)
{
	const struct profile p = top_looked_at(t);
	unsigned int rows, cols;
	char room[64];
	int err = 0;

	screen_size(t->screen, &rows, &cols);
	picture_begin(&t->picture, rows, cols);
	if (t->keys.help)
		keys_help(&t->picture);
	else
		err = view_draw(&p, &t->keys.look, top_remark(t, room), &t->picture);
	if (err) {
		errno = -err;
		return fail_errno(EX_OSERR, "ERROR");
	}
	screen_show(t->screen, &t->picture);
	return 0;
}

/* Without a screen no key can choose a PMC: prints all, one below the other. */
static int top_print(struct top *t, struct out *out)
{
	const struct profile p = top_looked_at(t);
	struct look look = t->keys.look;
	char room[64];
	int err = 0;

	if (t->printed)
		buf_printf(&out->text, "---\n");
	t->printed = true;
	for (look.event = 0; !err && (look.event == 0 || walk_event(p.walk, look.event));
	     look.event++) {
		if (look.event && !view_has(&p, &look, look.event))
			continue;
		if (look.event)
			buf_printf(&out->text, "\n");
		picture_begin(&t->picture, PICTURE_ROWS, PICTURE_COLS);
		err = view_draw(&p, &look, top_remark(t, room), &t->picture);
		picture_plain(&t->picture, &out->text);
	}
	if (err) {
		errno = -err;
		return fail_errno(EX_OSERR, "ERROR");
	}
	return out_push(out);
}

static int top_draw(struct measure *m)
{
	return m->top->screen ? top_show(m->top) : top_print(m->top, &m->out);
}

/* --- events ----------------------------------------------------------------------------------- */

/* Comes before the measurement, so that an unsuitable terminal is refused first. */
static int top_begin(struct measure *m)
{
	const struct analysis *a = m->analysis;
	struct symbols_config names = a->symbols;
	struct top *t = calloc(1, sizeof(*t));
	int code = 0, err;

	if (!t)
		return fail_errno(EX_OSERR, "ERROR");
	m->top = t;
	t->fd = m->log_fd;
	m->log_fd = -1;
	keys_begin(&t->keys);
	t->keys.look.threshold = a->threshold < 0 ? THRESHOLD : a->threshold;
	t->keys.look.depth = a->depth;
	t->keys.look.offsets = a->offsets;
	t->keys.look.addresses = a->symbols.no_names;
	t->keys.look.skip_links = a->skip_links;
	names.no_names = false;		/* a key may switch names on */
	names.no_inlines = true;
	t->whole = lseek(t->fd, 0, SEEK_CUR) >= 0;
	t->parser = pmclog_open(PMCLOG_FD_NONE);
	t->ev = calloc(1, sizeof(*t->ev));
	t->symbols = symbols_new(&names);
	code = symbols_check_kernel(a->symbols.kernel);
	if (code)
		return code;
	if (!t->parser || !t->ev || !t->symbols)
		return fail_errno(EX_OSERR, "ERROR");
	t->profile = profile_new(t->symbols, &a->filter);
	if (!t->profile)
		return EX_OSERR;
	if (isatty(m->out.fd))
		code = screen_new(&t->screen, m->out.fd);
	if (code)
		return code;
	if (t->screen)
		m->child.output = screen_output(t->screen);
	err = tap_open(&t->tap, t->fd, &m->log_fd);
	if (err) {
		errno = -err;
		return fail_errno(EX_OSERR, "ERROR: Cannot begin to read the log");
	}
	return 0;
}

static int top_open_screen(struct measure *m)
{
	int code = m->top->screen ? screen_open(m->top->screen, &m->key_fd) : 0;

	return code || !m->top->screen ? code : top_show(m->top);
}

/*
 * The end of the log.  A screen keeps the last whole period, because the rest after it may have
 * hardly any samples.
 */
static int top_last_period(struct measure *m)
{
	struct top *t = m->top;
	bool adds_up = t->keys.sums || t->whole, more;
	int code = 0;

	profile_settle(t->profile);
	more = t->profile->samples > (adds_up ? t->counts.samples : 0);
	if (!t->drawn || (more && (!t->screen || adds_up)))
		code = top_end_period(t);
	else if (!t->screen)
		return 0;
	return code ? code : top_draw(m);
}

static int top_on_log(struct measure *m)
{
	struct top *t = m->top;
	int code, drawing = 0;

	if (t->ended)
		return 0;
	code = top_take(t);
	if (!t->ended)
		return code;
	m->log_fd = -1;
	t->kept = m->input && m->key_fd >= 0;
	m->done |= !t->kept && (!m->child.pid || t->screen);
	/* Show the records before a damage. */
	if (!code || walk_event(t->profile->walk, 0))
		drawing = top_last_period(m);
	return code ? code : drawing;
}

static int top_on_key(struct measure *m)
{
	struct top *t = m->top;
	char keys[64];
	ssize_t n = read(m->key_fd, keys, sizeof(keys));

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0) {
		m->key_fd = -1;		/* the terminal has gone */
		m->done = true;
		return 0;
	}
	keys_type(&t->keys, t->profile, keys, (size_t)n);
	m->done |= t->keys.quit;
	return top_draw(m);
}

static int top_on_tick(struct measure *m)
{
	struct top *t = m->top;
	int code = top_on_log(m);

	if (code || t->ended || (t->whole && !t->screen) || m->out.text.len > OUT_BACKLOG)
		return code;
	if (t->keys.paused) {
		if (!t->keys.sums && !t->whole)
			profile_clear(t->profile);
		return 0;
	}
	if (!t->keys.first)
		t->keys.echo[0] = '\0';
	if (t->screen)
		screen_trim(t->screen);
	code = top_end_period(t);
	return code ? code : top_draw(m);
}

static int top_on_resize(struct measure *m)
{
	if (!m->top->screen)
		return 0;
	screen_renew(m->top->screen);
	return top_draw(m);
}

static int top_on_stop(struct measure *m)
{
	if (m->top->screen)
		screen_suspend(m->top->screen);
	return 0;
}

static int top_on_wait(struct measure *m)
{
	tap_hold(m->top->tap, false);
	return 0;
}

/* The log was closed: read to its end. */
static int top_drain(struct measure *m)
{
	int code = 0;

	while (!code && !m->top->ended) {
		tap_wait(m->top->tap);
		code = top_on_log(m);
	}
	return code;
}

static int top_end(struct measure *m)
{
	struct top *t = m->top;

	m->top = NULL;
	m->log_fd = m->key_fd = -1;
	tap_close(t->tap);
	screen_close(t->screen, &t->picture);
	picture_free(&t->picture);
	free(t->counts.tallies);
	free(t->counts.event_samples);
	profile_free(t->profile);
	symbols_free(t->symbols);
	pmclog_close(t->parser);
	free(t->ev);
	close(t->fd);
	free(t);
	return 0;
}

int top_live(struct measure *m, enum live_event event)
{
	static int (*const handlers[])(struct measure *m) = {
		[LIVE_BEGIN] = top_begin, [LIVE_OPEN] = top_open_screen, [LIVE_LOG] = top_on_log,
		[LIVE_KEY] = top_on_key, [LIVE_TICK] = top_on_tick, [LIVE_RESIZE] = top_on_resize,
		[LIVE_STOP] = top_on_stop, [LIVE_WAIT] = top_on_wait, [LIVE_DRAIN] = top_drain,
		[LIVE_END] = top_end,
	};

	return handlers[event](m);
}

int top_read(struct measure *m)
{
	int code = log_open_input(m->input, &m->log_fd);

	return code ? code : top_begin(m);
}
