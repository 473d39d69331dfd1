/* SPDX-License-Identifier: BSD-2-Clause */
/* See server.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "greeting.h"
#include "loader/ktr/ktr.h"
#include "owner_notes.h"
#include "loader/pmc/pmc_release.h"
#include "loader/op/logbook.h"
#include "loader/kernel/kernel.h"
#include "loop.h"
#include "reload.h"
#include "server.h"
#include "loader/pmc/sample_log.h"
#include "loader/tables/tables.h"
#include "work.h"

#define EVENTS	       1024	/* in one turn: all that are ready, so that each user is served */
#define ACCEPTS	       16	/* in one turn, so that connected clients get theirs */
#define FDS_PER_CLIENT 6u
#define FDS_RESERVED   512u
#define FDS_PER_CPU    4u		/* rings and the like */
#define MAX_FDS	       (1u << 20)	/* where there is no limit */

/* --- accepting ----------------------------------------------------------------------------- */

/* Charges the user for a connection, by the rules for its process; NULL: refused. */
static struct user *connection_charge(struct server *s, const struct cred *cred,
				      struct grant *grant, struct reason *why)
{
	struct user *user = user_get(&s->d->users, cred);
	int err;

	if (!user) {
		deny(why, -ENOMEM, "no memory for a connection");
		return NULL;
	}
	err = daemon_grant(s->d, s->d->site, cred, user, grant, why);
	if (!err)
		user_set_rules(user, grant, s->d->owners.numbers + 1);
	err = err ?: user_take(&s->d->users, user, POOL_CONNECTIONS, 1, why);
	/* The charge keeps the user. */
	user_put(user);
	return err ? NULL : user;
}

static int connection_add(struct server *s, int fd, struct reason *why)
{
	struct user *user = NULL;
	struct grant grant;
	struct cred cred;
	int pidfd = -1, err;

	/* A process that has executed another program must not join the owner that it was. */
	server_catch_up(s);
	err = greeting_take(s->d, fd, &cred, &pidfd, why);
	if (!err)
		user = connection_charge(s, &cred, &grant, why);
	if (user)
		return client_add(s, fd, user, &grant, &cred, pidfd, why);
	if (!err) {
		err = -EAGAIN;
		greeting_forget(s->d, cred.pid);
		close(pidfd);
	}
	client_refuse(s, fd, err, why);
	return err;
}

static void on_listener(struct server *s, struct watch *w, uint32_t events)
{
	for (unsigned int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct reason why;

		if (fd >= 0) {
			(void)connection_add(s, fd, &why);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN) {
			/* Descriptors or memory are used up: wait until a connection ends. */
			messages_put(&s->d->messages, LOG_WARNING,
				     "cannot accept a connection: %m");
			s->paused = s->nclients > 0;
			watch_change(s->epoll, w, s->paused ? 0 : EPOLLIN);
		}
		return;
	}
}

void server_client_gone(struct server *s)
{
	if (s->paused) {
		s->paused = false;
		watch_change(s->epoll, &s->listener, EPOLLIN);
	}
	if (s->single)
		s->stop = true;
}

/* --- logs ------------------------------------------------------------------------------------ */

/* A log has written, failed or ended. */
static void on_logs(struct server *s, struct watch *w, uint32_t events)
{
	bool news;

	logpool_reap(s->d->logs);
	for (struct client *c = s->clients; c; c = c->next) {
		struct owner *o = c->session.owner;
		int err = o && o->log ? logfile_error(o->log, &news) : 0;

		if (!err || !news)
			continue;
		messages_put(&s->d->messages, LOG_NOTICE,
			     "the log of process %d (%s) has failed: %s",
			o->cred.pid, o->program, strerror(-err));
		s->d->raise(o, SIGIO);
	}
	clients_resume(s);
}

static void on_trace(struct server *s, struct watch *w, uint32_t events)
{
	/* Notes of files come before samples in them. */
	tables_run(s->d->tables);
	sample_log_drain(s->d->samples);
	works_late(s);
	logpool_push(s->d->logs);
}

/* --- tables for unwinding -------------------------------------------------------------------- */

static void on_tables(struct server *s, struct watch *w, uint32_t events)
{
	tables_run(s->d->tables);
}

/* --- programs that operations wait for ------------------------------------------------------- */

static void on_load(struct server *s, struct watch *w, uint32_t events)
{
	load_thread_wake(s->d->engine->load_thread);
}

/* --- notes of the programs -------------------------------------------------------------------- */

/* The new program may have inherited the connections: they end, with all that they held. */
static void connection_owner_execed(void *arg, struct owner *o)
{
	struct server *s = arg;

	DEBUG(&s->d->debug, PROCESS, EXEC, "owner %d", o->cred.pid);
	for (struct client *c = s->clients, *next; c; c = next) {
		next = c->next;
		if (c->session.owner == o)
			client_close(s, c);
	}
}

void server_catch_up(struct server *s)
{
	owner_notes_read(s->d, connection_owner_execed, s);
}

static void on_notes(struct server *s, struct watch *w, uint32_t events)
{
	server_catch_up(s);
}

/* --- helper processes ------------------------------------------------------------------------ */

static void on_helpers(struct server *s, struct watch *w, uint32_t events)
{
	helpers_run(s->d->errands.helpers);
}

/* --- trace rings ----------------------------------------------------------------------------- */

static void on_ktr(struct server *s, struct watch *w, uint32_t events)
{
	daemon_ktr_done(s->d);
	clients_resume(s);
}

/* --- signals ------------------------------------------------------------------------------- */

static void on_signal(struct server *s, struct watch *w, uint32_t events)
{
	struct signalfd_siginfo info;

	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		reload_begin(s);
	else
		s->stop = true;
}

/* --- CPUs ---------------------------------------------------------------------------------- */

static void on_cpus(struct server *s, struct watch *w, uint32_t events)
{
	cpu_bell_quiet(s->d->engine->cpu_bell);
	count_cpus(s->d->engine);
	lifetime_cpus(s->d->life);
}

/* --- life ------------------------------------------------------------------------------------ */

_Static_assert(SERVER_MAX_CLIENTS <= ABI_MAX_OWNERS, "each may be of another process");

/* Descriptors: at most one half for connections, the rest for events. */
static void server_share_descriptors(struct server *s, unsigned int ncpu)
{
	rlim_t n = MAX_FDS, reserved = FDS_RESERVED + FDS_PER_CPU * (rlim_t)ncpu;
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < n)
		n = r.rlim_cur;
	n -= n > reserved ? reserved : n;
	s->max_clients = SERVER_MAX_CLIENTS;
	if (n / 2 / FDS_PER_CLIENT < s->max_clients)
		s->max_clients = (unsigned int)(n / 2 / FDS_PER_CLIENT);
	s->max_clients += !s->max_clients;
	user_pool(&s->d->users, POOL_CONNECTIONS, s->max_clients);
	user_pool(&s->d->users, POOL_EVENTS,
		  (unsigned int)(n > s->max_clients * FDS_PER_CLIENT ?
				 n - s->max_clients * FDS_PER_CLIENT : 0));
}

/* Signals that end the daemon, or have it read its files again. */
static sigset_t server_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	return set;
}

void server_hold_signals(void)
{
	sigset_t set = server_signals();

	sigprocmask(SIG_BLOCK, &set, NULL);
}

static struct watch watch_of(int fd, void (*ready)(struct server *, struct watch *, uint32_t),
			     unsigned int kind)
{
	return (struct watch){ .fd = fd, .ready = ready, .kind = kind };
}

int server_new(struct server **out, struct daemon *d, struct reason *why)
{
	struct server *s = calloc(1, sizeof(*s));
	sigset_t set = server_signals();
	int err;

	if (!s)
		return deny(why, -ENOMEM, "no memory");
	s->d = d;
	TAILQ_INIT(&s->silent);
	server_share_descriptors(s, d->rows.ncpu);
	TAILQ_INIT(&s->turns);
	TAILQ_INIT(&s->works);
	TAILQ_INIT(&s->spare);
	/* Execs of processes with connections are noted from before the first one to the end. */
	err = engine_need(d->engine, NEED_EXEC, why);
	if (err) {
		free(s);
		return err;
	}
	s->reply.own_fd = -1;
	s->reply.data = malloc(WIRE_MAX_REPLY);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->notes = watch_of(notes_fd(d->engine->notes), on_notes, WATCHDOG_NOTES);
	s->signals = watch_of(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), on_signal,
			      WATCHDOG_OTHER);
	s->cpus = watch_of(cpu_bell_fd(d->engine->cpu_bell), on_cpus, WATCHDOG_OTHER);
	s->logs = watch_of(d->log_event, on_logs, WATCHDOG_LOGS);
	s->trace = watch_of(sample_log_fd(d->samples), on_trace, WATCHDOG_RINGS);
	s->tables = watch_of(tables_fd(d->tables), on_tables, WATCHDOG_OTHER);
	s->load = watch_of(load_thread_fd(d->engine->load_thread), on_load, WATCHDOG_OTHER);
	s->ktr = watch_of(ktr_event(d->ktr), on_ktr, WATCHDOG_OTHER);
	s->helpers = watch_of(helpers_fd(d->errands.helpers), on_helpers, WATCHDOG_HELPERS);
	if (!s->reply.data || s->epoll < 0 || s->signals.fd < 0 ||
	    watch_add(s->epoll, &s->signals, EPOLLIN) || watch_add(s->epoll, &s->notes, EPOLLIN) ||
	    watch_add(s->epoll, &s->cpus, EPOLLIN) || watch_add(s->epoll, &s->logs, EPOLLIN) ||
	    watch_add(s->epoll, &s->trace, EPOLLIN) || watch_add(s->epoll, &s->ktr, EPOLLIN) ||
	    watch_add(s->epoll, &s->helpers, EPOLLIN) || watch_add(s->epoll, &s->tables, EPOLLIN) ||
	    watch_add(s->epoll, &s->load, EPOLLIN)) {
		err = deny(why, -errno, "cannot set up the event loop: %m");
		server_free(s);
		return err;
	}
	*out = s;
	return 0;
}

/* Owners of PMCs get SIGBUS, after their PMCs have been released. */
static void server_release_owners(struct server *s)
{
	for (const struct client *c = s->clients; c; c = c->next) {
		struct owner *o = c->session.owner;

		if (!o || !o->npmc)
			continue;
		logbook_end(s->d, o);
		pmc_release_all(&s->d->rows, o);
		s->d->raise(o, SIGBUS);
	}
}

void server_free(struct server *s)
{
	if (!s)
		return;
	works_finish(s);
	reload_finish(s);
	server_release_owners(s);
	while (s->clients)
		client_close(s, s->clients);
	works_finish(s);
	works_free(s);
	clients_bury(s);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->signals.fd >= 0)
		close(s->signals.fd);
	engine_unneed(s->d->engine, NEED_EXEC);
	free(s->reply.data);
	free(s);
}

int server_listen(struct server *s, const struct endpoint *e, struct reason *why)
{
	int err;

	s->listener = watch_of(e->fd, on_listener, WATCHDOG_ACCEPT);
	err = watch_add(s->epoll, &s->listener, EPOLLIN);
	return err ? deny(why, err, "cannot watch the socket: %s", strerror(-err)) : 0;
}

int server_adopt(struct server *s, int fd, struct reason *why)
{
	s->single = true;
	return connection_add(s, fd, why);
}

static bool watch_is_end(const struct watch *w, uint32_t events)
{
	return w->end || events & (EPOLLHUP | EPOLLERR);
}

/* An earlier event of the same turn may have closed a watch: it has no descriptor then. */
static void server_dispatch(struct server *s, const struct epoll_event *e, int n, bool ends)
{
	for (int i = 0; i < n; i++) {
		struct watch *w = e[i].data.ptr;

		if (w->fd < 0 || watch_is_end(w, e[i].events) != ends)
			continue;
		watchdog_begin(&s->d->watchdog);
		w->ready(s, w, e[i].events);
		watchdog_end(&s->d->watchdog, w->kind);
	}
}

/* The ms until something is due that no descriptor reports; -1: nothing is. */
static int server_time_left(struct server *s)
{
	int due[] = { engine_settle(s->d->engine), count_poll(s->d->engine),
		      watchdog_beat(&s->d->watchdog), clients_silent(s),
		      errands_due(&s->d->errands) };
	int first = -1;

	for (unsigned int i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		if (due[i] >= 0 && (first < 0 || due[i] < first))
			first = due[i];
	return first;
}

static bool server_is_ready(const struct server *s)
{
	return works_ready(s) || reload_ready(s);
}

/*
 * The kernel lists ready descriptors in no useful order.  An owner that exited before a request was
 * made must be gone for that request: ends come first.
 */
int server_run(struct server *s, struct reason *why)
{
	while (!s->stop) {
		struct epoll_event e[EVENTS];
		int left = server_time_left(s), n;

		/* Helpers close descriptors discarded until now, also by server_time_left(). */
		helpers_settle(s->d->errands.helpers);
		n = epoll_wait(s->epoll, e, EVENTS, server_is_ready(s) ? 0 : left);
		if (n < 0 && errno != EINTR)
			return deny(why, -errno, "epoll_wait: %m");
		server_dispatch(s, e, n, true);
		server_dispatch(s, e, n, false);
		works_run(s);
		reload_run(s);
		clients_bury(s);
		if (helpers_lost(s->d->errands.helpers))
			return deny(why, -EIO, "the process that starts pmcbpfd's helpers has "
				    "died; start pmcbpfd anew");
	}
	return 0;
}
