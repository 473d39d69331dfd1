/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An address that is not in `seen`, a cache, is added to `pending`, and the kernel is asked for its
 * function, which is written once: `logged` is the set of functions in the log.  What the kernel
 * does not find by address may be in its table of all names.  Addresses that are not in the table
 * wait for the next table and are given up then.  Modules and BPF programs come and go: each second
 * `seen` and their functions are forgotten, and the kernel is asked again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/number_set.h"
#include "loader/base/base.h"
#include "loader/kernel/kernel.h"
#include "ksyms.h"
#include "kernel_names.h"

#define SEEN_BITS   12
#define PENDING_MAX 65536u		/* addresses without room are seen again later */
#define LOGGED_MAX  65536u		/* functions of a log */
#define AGAIN_NS    NS_PER_S		/* between two readings of the table */
#define AGAIN_MAX   (64 * AGAIN_NS)	/* … if they bring nothing new */
#define QUESTIONS   (16 * ABI_SYMBOLS)	/* addresses that the kernel is asked for at a time */
#define KERNEL	    (1ull << 63)

struct kernel_names {
	const char *file;
	const struct engine *engine;	/* NULL: the kernel is not asked */
	const struct messages *messages;
	void (*ready)(void *arg);
	void *arg;
	bool wanted;			/* atomic: the loop is to start a reader */
	bool started;			/* the loop's: `thread` has to be joined */
	pthread_t thread;

	pthread_mutex_t lock;		/* protects all below */
	pthread_cond_t idle;
	uint64_t question[QUESTIONS];
	size_t nquestions;		/* not yet answered */
	struct ksyms *found;		/* the functions that the kernel found, its own … */
	struct ksyms *added;		/* … and of modules and BPF, since `added_at` */
	uint64_t added_at;		/* ns */
	struct ksyms *table;
	unsigned int users;		/* logs that use these tables; without any they are freed */
	unsigned int reads;		/* of the table */
	unsigned int news;		/* readings and answers */
	uint64_t read_at, again;	/* ns; the delay to the next reading */
	bool reading;			/* or about to be read */
	bool hidden;			/* the file has no names */
	bool complained;
};

struct name_search {
	struct kernel_names *names;
	const struct logclock *clock;
	uint64_t seen[1u << SEEN_BITS];
	uint64_t *pending;
	size_t npending, room;
	size_t tried;			/* the first ones, which table number `reads` lacks */
	size_t asked;			/* the first ones, for which the kernel was asked */
	unsigned int reads, news;
	uint64_t seen_at;		/* ns; when `seen` was emptied last */
	struct number_set logged;
	uint8_t *records;
	size_t len, records_room;
	uint8_t stamp[LOGFMT_NEW_PREFIX];	/* of the record before the names */
	bool user, last;
	bool hides;			/* atomic: no more names */
};

/* --- the table ------------------------------------------------------------------------------- */

struct kernel_names *kernel_names_new(const char *file, const struct engine *engine,
				      const struct messages *messages, void (*ready)(void *arg),
				      void *arg)
{
	struct kernel_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->file = file;
	n->engine = engine;
	n->messages = messages;
	n->ready = ready;
	n->arg = arg;
	n->again = AGAIN_NS;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->idle, NULL);
	return n;
}

void kernel_names_free(struct kernel_names *n)
{
	if (!n)
		return;
	if (n->started)
		pthread_join(n->thread, NULL);
	ksyms_free(n->found);
	ksyms_free(n->added);
	ksyms_free(n->table);
	pthread_cond_destroy(&n->idle);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

unsigned int kernel_names_news(const struct kernel_names *n)
{
	return __atomic_load_n(&n->news, __ATOMIC_ACQUIRE);
}

/* The caller holds the lock, as with the other functions here that do not take it. */
static void names_forget(struct kernel_names *n)
{
	ksyms_free(n->found);
	ksyms_free(n->added);
	ksyms_free(n->table);
	n->found = n->added = n->table = NULL;
	n->hidden = false;
	n->again = AGAIN_NS;
}

/* Logs wait for news. */
static void names_publish(struct kernel_names *n)
{
	__atomic_store_n(&n->news, n->news + 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&n->idle);
}

/* One message for all failures.  Any thread, with or without the lock. */
static void names_complain(struct kernel_names *n, int err)
{
	if (!__atomic_exchange_n(&n->complained, true, __ATOMIC_RELAXED))
		messages_put(n->messages, LOG_WARNING,
			     "logs lack names of kernel functions (%s): %s",
			n->file, strerror(-err));
}

static void *table_read(void *arg)
{
	struct kernel_names *n = arg;
	struct ksyms *old, *fresh = NULL;
	int err = ksyms_read(&fresh, n->file);

	if (err && err != -EPERM)
		names_complain(n, err);
	pthread_mutex_lock(&n->lock);
	old = n->table;
	n->table = fresh;
	n->hidden = err != 0;
	if (!n->users)
		names_forget(n);
	n->reading = false;
	n->read_at = clock_ns();
	n->reads++;
	names_publish(n);
	pthread_mutex_unlock(&n->lock);
	ksyms_free(old);
	n->ready(n->arg);
	return NULL;
}

/* Makes the loop start the reader, which then has the daemon's ids and not a log owner's. */
static void table_request(struct kernel_names *n)
{
	if (n->reading)
		return;
	n->reading = true;
	__atomic_store_n(&n->wanted, true, __ATOMIC_RELEASE);
	n->ready(n->arg);
}

static void table_serve(struct kernel_names *n)
{
	int err;

	if (!__atomic_exchange_n(&n->wanted, false, __ATOMIC_ACQ_REL))
		return;
	/* The reader has released the lock and is about to end. */
	if (n->started)
		pthread_join(n->thread, NULL);
	err = worker_start(&n->thread, table_read, n, 0);
	n->started = !err;
	if (!err)
		return;
	names_complain(n, err);
	pthread_mutex_lock(&n->lock);
	n->reading = false;
	n->hidden = true;
	pthread_cond_broadcast(&n->idle);
	pthread_mutex_unlock(&n->lock);
}

/* --- questions ------------------------------------------------------------------------------- */

/* Returns the number of addresses for which there is room. */
static size_t questions_ask(struct kernel_names *n, const uint64_t *address, size_t some)
{
	size_t room = QUESTIONS - n->nquestions;

	some = some < room ? some : room;
	memcpy(&n->question[n->nquestions], address, some * sizeof(*address));
	n->nquestions += some;
	if (some)
		n->ready(n->arg);
	return some;
}

static void found_add(struct kernel_names *n, const struct kernel_symbol *s)
{
	struct ksyms **to = *s->name == '[' ? &n->added : &n->found;
	int err = -ENOMEM;

	if (!*to)
		*to = ksyms_new();
	if (*to)
		err = ksyms_add(*to, s->start, s->size, s->name);
	if (err)
		names_complain(n, err);
}

static void added_forget(struct kernel_names *n)
{
	if (clock_ns() - n->added_at < AGAIN_NS)
		return;
	ksyms_free(n->added);
	n->added = NULL;
	n->added_at = clock_ns();
}

/*
 * A file that hides addresses hides names: then nothing is found, and the reader of the table finds
 * out.
 */
static void questions_answer(struct kernel_names *n)
{
	struct kernel_symbol found[ABI_SYMBOLS];
	uint64_t start;
	bool hidden;

	pthread_mutex_lock(&n->lock);
	if (!n->nquestions) {
		pthread_mutex_unlock(&n->lock);
		return;
	}
	added_forget(n);
	hidden = ksyms_start(n->file, &start) != 0;
	for (size_t i = 0; i < n->nquestions && !hidden; i += ABI_SYMBOLS) {
		size_t rest = n->nquestions - i, some = rest < ABI_SYMBOLS ? rest : ABI_SYMBOLS;

		if (kernel_symbols_find(n->engine, &n->question[i], some, found))
			continue;
		for (size_t k = 0; k < some; k++)
			if (found[k].start)
				found_add(n, &found[k]);
	}
	n->nquestions = 0;
	if (!n->users)
		names_forget(n);
	names_publish(n);
	pthread_mutex_unlock(&n->lock);
	n->ready(n->arg);
}

void kernel_names_serve(struct kernel_names *n)
{
	questions_answer(n);
	table_serve(n);
}

/* --- sets ------------------------------------------------------------------------------------- */

/* False: it is in the set already, or there is no room. */
static bool logged_add(struct name_search *l, uint64_t key)
{
	if (l->logged.n >= LOGGED_MAX || number_set_has(&l->logged, key))
		return false;
	if (number_set_add(&l->logged, key) != 0) {
		names_complain(l->names, -ENOMEM);
		return false;
	}
	return true;
}

/* Later another function may have the address: the name is part of the key. */
static uint64_t logged_key(const struct ksym *sym)
{
	uint64_t key = sym->start;

	for (const char *p = sym->name; *p; p++)
		key = index_mix(key, (uint8_t)*p);
	return key;
}

static void pending_add(struct name_search *l, uint64_t address)
{
	if (l->npending == PENDING_MAX)
		return;
	if (array_reserve(l->pending, l->room, l->npending + 1) != 0) {
		names_complain(l->names, -ENOMEM);
		return;
	}
	l->pending[l->npending++] = address;
	l->seen[index_mix(0, address) >> (64 - SEEN_BITS)] = address;
}

/* --- names in a log -------------------------------------------------------------------------- */

struct name_search *name_search_new(struct kernel_names *n, const struct logclock *clock)
{
	struct name_search *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->names = n;
	l->clock = clock;
	return l;
}

void name_search_free(struct name_search *l)
{
	struct kernel_names *n;

	if (!l)
		return;
	n = l->names;
	pthread_mutex_lock(&n->lock);
	if (l->user && !--n->users)
		names_forget(n);
	pthread_mutex_unlock(&n->lock);
	free(l->pending);
	number_set_free(&l->logged);
	free(l->records);
	free(l);
}

void name_search_hide(struct name_search *l)
{
	__atomic_store_n(&l->hides, true, __ATOMIC_RELAXED);
}

static void seen_forget(struct name_search *l)
{
	memset(l->seen, 0, sizeof(l->seen));
	l->seen_at = clock_ns();
}

/*
 * Kernel addresses come first, if there are any.  All but the sampled one are return addresses.
 * PMCLOG_PC_KERNEL stands for all kernel addresses and has no name.
 */
static void pending_scan(struct name_search *l, const uint8_t *pcs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t pc;

		memcpy(&pc, pcs + i * sizeof(pc), sizeof(pc));
		if (!(pc & KERNEL) || pc == PMCLOG_PC_KERNEL)
			break;
		if (pc - PMCLOG_PC_WAIT <= PMCLOG_WAIT_PREEMPTED)
			continue;
		pc -= i > 0;
		if (l->seen[index_mix(0, pc) >> (64 - SEEN_BITS)] != pc)
			pending_add(l, pc);
	}
}

size_t name_search_scan(struct name_search *l, const uint8_t *data, size_t len)
{
	unsigned int end = logfmt_number(l->clock->format, PMCLOG_TYPE_CLOSELOG);
	size_t prefix = logfmt_prefix(l->clock->format), at = 0;

	if (l->names->engine && clock_ns() - l->seen_at >= AGAIN_NS)
		seen_forget(l);
	while (len - at >= prefix) {
		unsigned int type;
		uint32_t header;
		size_t size, pcs;

		memcpy(&header, data + at, sizeof(header));
		type = PMCLOG_HEADER_TO_TYPE(header);
		size = PMCLOG_HEADER_TO_LENGTH(header);
		l->last = type == end;
		if (l->last || size < prefix || size > len - at)
			break;
		memcpy(l->stamp, data + at, prefix);
		pcs = type == PMCLOG_TYPE_CALLCHAIN || type == PMCLOG_TYPE_WAKER ?
			      logfmt_records[type].fixed[l->clock->format] : SIZE_MAX;
		if (size >= pcs && !__atomic_load_n(&l->hides, __ATOMIC_RELAXED))
			pending_scan(l, data + at + pcs, (size - pcs) / sizeof(uint64_t));
		at += size;
	}
	return at;
}

/* A name has the time of the record before it. */
static void record_put(struct name_search *l, const struct ksym *sym)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_MAP_IN };
	struct pmclog_ev_map_in *mi = &ev.pl_u.pl_mi;
	size_t prefix = logfmt_prefix(l->clock->format);
	uint8_t *record;

	if (array_reserve(l->records, l->records_room, l->len + LOGREC_MAX) != 0) {
		names_complain(l->names, -ENOMEM);
		return;
	}
	mi->pl_pid = -1;
	mi->pl_start = sym->start;
	snprintf(mi->pl_pathname, LOGREC_PATH, "%s%s", sym->image, sym->name);
	if (!logged_add(l, logged_key(sym)))
		return;
	record = l->records + l->len;
	l->len += logrec_encode(record, l->clock, 0, &ev);
	memcpy(record + 4, l->stamp + 4, prefix - 4);
}

static bool pending_given_up(const struct name_search *l, uint64_t address)
{
	return number_set_has(&l->logged, address);
}

/* The table is older than an answer; `asked`: the kernel had none. */
static bool names_find(const struct kernel_names *n, uint64_t address, bool asked,
		       struct ksym *sym)
{
	return (n->found && ksyms_find(n->found, address, sym)) ||
	       (n->added && ksyms_find(n->added, address, sym)) ||
	       (asked && n->table && ksyms_find(n->table, address, sym));
}

/*
 * Writes the names that are known.  If the table is fresh, addresses that neither it nor the
 * previous table has are given up.
 */
static void pending_name(struct name_search *l)
{
	struct kernel_names *n = l->names;
	bool fresh = n->table && l->reads != n->reads, of_use = false;
	size_t again = fresh ? l->tried : 0, left = l->news != n->news ? 0 : l->tried, asked = left;
	struct ksym sym;

	added_forget(n);
	for (size_t i = left; i < l->npending; i++) {
		uint64_t address = l->pending[i];

		if (names_find(n, address, !n->engine || i < l->asked, &sym)) {
			record_put(l, &sym);
			of_use |= i < again;
		} else if (i < again) {
			(void)logged_add(l, address);
		} else if (!pending_given_up(l, address)) {
			asked += i < l->asked;
			l->pending[left++] = address;
		}
	}
	if (again)
		n->again = of_use ? AGAIN_NS : n->again < AGAIN_MAX ? n->again * 2 : AGAIN_MAX;
	/* Addresses may belong to other functions now. */
	if (fresh)
		seen_forget(l);
	l->npending = left;
	l->tried = !n->table ? 0 : n->engine ? asked : left;
	l->asked = asked;
	l->reads = n->reads;
	l->news = n->news;
}

/* The kernel has answered, and there are addresses without a name. */
static bool table_wanted(const struct name_search *l)
{
	const struct kernel_names *n = l->names;

	return l->npending && (!n->engine || (l->asked == l->npending && !n->nquestions)) &&
	       (!n->table || clock_ns() - n->read_at >= n->again);
}

/* True: an answer is to come. */
static bool pending_ask(struct name_search *l)
{
	struct kernel_names *n = l->names;

	if (n->engine)
		l->asked += questions_ask(n, l->pending + l->asked, l->npending - l->asked);
	if (table_wanted(l))
		table_request(n);
	return l->npending && (n->reading || n->nquestions);
}

size_t name_search_records(struct name_search *l, const uint8_t **records)
{
	struct kernel_names *n = l->names;

	l->len = 0;
	if (__atomic_load_n(&l->hides, __ATOMIC_RELAXED))
		l->npending = l->tried = l->asked = 0;
	if (!l->npending)
		return 0;
	pthread_mutex_lock(&n->lock);
	n->users += !l->user;
	l->user = true;
	for (;;) {
		if (n->hidden)
			l->npending = l->tried = l->asked = 0;
		else
			pending_name(l);
		if (!pending_ask(l) || !l->last)
			break;
		pthread_cond_wait(&n->idle, &n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	*records = l->records;
	return l->len;
}

bool name_search_due(const struct name_search *l)
{
	return l->npending && l->news != kernel_names_news(l->names);
}
