/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's side of its helper processes: idle, working, past their deadline, killed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "helper_impl.h"

#define IDLE	   2u			/* idle helpers that are kept */
#define EVENTS	   32
/* An event's data is its helper, or 0 for the daemon's own; this bit: a process has ended. */
#define EXIT	   1ull

static uint64_t helper_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int helpers_new(struct helpers **out, const struct helpers_spec *spec)
{
	struct helpers *h = calloc(1, sizeof(*h));
	int pair[2] = { -1, -1 }, err = -ENOMEM;
	struct epoll_event e = { .events = EPOLLIN };
	pid_t pid;

	if (!h)
		return -ENOMEM;
	h->max = spec->max;
	LIST_INIT(&h->idle);
	LIST_INIT(&h->busy);
	LIST_INIT(&h->ending);
	LIST_INIT(&h->dead);
	h->spawner = -1;
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (h->epoll < 0 || h->timer < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->timer, &e) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		helpers_free(h);
		return err;
	}
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		close(h->epoll);
		close(h->timer);
		helper_process_serve(pair[1], spec);
	}
	err = pid < 0 ? -errno : 0;
	close(pair[1]);
	h->spawner = pair[0];
	/* Only the spawner's end is an event; helper_spawn() waits for its answers. */
	e = (struct epoll_event){ .data.u64 = EXIT };
	if (!err && epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->spawner, &e))
		err = -errno;
	if (err) {
		helpers_free(h);
		return err;
	}
	*out = h;
	return 0;
}

/* --- helpers come and go ---------------------------------------------------------------------- */

static int helper_watch(struct helpers *h, struct helper *p)
{
	struct epoll_event answer = { .events = EPOLLIN, .data.ptr = p };
	struct epoll_event end = { .events = EPOLLIN, .data.u64 = (uintptr_t)p | EXIT };

	return epoll_ctl(h->epoll, EPOLL_CTL_ADD, p->socket, &answer) ||
	       epoll_ctl(h->epoll, EPOLL_CTL_ADD, p->pidfd, &end);
}

/* Removed explicitly: a copy in a child of the daemon would keep it in the epoll set. */
static void helper_fd_close(struct helpers *h, int *fd)
{
	if (*fd < 0)
		return;
	epoll_ctl(h->epoll, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

/* The process at the other end of `socket`: its pidfd, or -errno. */
static int helper_spawn(struct helpers *h, int socket)
{
	int fds[HELPER_MAX_FDS], result = -EIO;
	unsigned int nfds = 0;
	int err = message_send(h->spawner, "", 1, NULL, 0, &socket, 1, 0);

	if (!err && message_receive(h->spawner, &result, sizeof(result), NULL, 0, fds, &nfds, 0) <
			    (long)sizeof(result))
		err = -EIO;
	if (!err && !result && nfds == 1)
		return fds[0];
	for (unsigned int i = 0; i < nfds; i++)
		close(fds[i]);
	return err ? err : result ? result : -EMFILE;
}

static struct helper *helper_new(struct helpers *h)
{
	struct helper *p = calloc(1, sizeof(*p));
	int pair[2];

	if (!p || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(p);
		return NULL;
	}
	p->socket = pair[0];
	p->pidfd = helper_spawn(h, pair[1]);
	close(pair[1]);
	if (p->pidfd >= 0 && !helper_watch(h, p)) {
		h->n++;
		return p;
	}
	helper_fd_close(h, &p->socket);
	helper_fd_close(h, &p->pidfd);
	free(p);
	return NULL;
}

static void helper_charge_over(struct helper *p)
{
	struct helper_task *t = p->charged;

	p->charged = NULL;
	if (t && p->over)
		p->over(t);
}

/* The caller has removed it from its list. */
static void helper_free(struct helpers *h, struct helper *p)
{
	helper_fd_close(h, &p->socket);
	helper_fd_close(h, &p->pidfd);
	h->n--;
	h->closing_n -= p->closing;
	LIST_INSERT_HEAD(&h->dead, p, next);
	helper_charge_over(p);
}

/*
 * Kills a helper.  The end of its socket does not mean that the process is gone: exit(2) closes the
 * socket before a file that may hang.
 */
static void helper_end(struct helpers *h, struct helper *p)
{
	(void)syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
	helper_fd_close(h, &p->socket);
	LIST_REMOVE(p, next);
	p->task = NULL;
	p->deadline = 0;
	if (p->exited)
		helper_free(h, p);
	else
		LIST_INSERT_HEAD(&h->ending, p, next);
}

static void helpers_bury(struct helpers *h)
{
	struct helper *p;

	while ((p = LIST_FIRST(&h->dead))) {
		LIST_REMOVE(p, next);
		free(p);
	}
}

/* Its call is done: it waits for the next one, or ends if enough helpers wait already. */
static void helper_idle(struct helpers *h, struct helper *p)
{
	if (h->idle_n >= IDLE) {
		helper_end(h, p);
		return;
	}
	LIST_REMOVE(p, next);
	p->task = NULL;
	p->deadline = 0;
	h->closing_n -= p->closing;
	p->closing = false;
	LIST_INSERT_HEAD(&h->idle, p, next);
	h->idle_n++;
	helper_charge_over(p);
}

static void helper_done(struct helpers *h, struct helper *p, uint32_t end)
{
	if (end == HELPER_END_ALL)
		helper_end(h, p);
	else
		helper_idle(h, p);
}

/* The next deadline. */
static void helpers_arm(const struct helpers *h)
{
	struct itimerspec when = { .it_value.tv_sec = 0 };
	uint64_t first = 0;
	struct helper *p;

	LIST_FOREACH(p, &h->busy, next)
		if (p->deadline && (!first || p->deadline < first))
			first = p->deadline;
	when.it_value.tv_sec = (time_t)(first / 1000000000u);
	when.it_value.tv_nsec = (long)(first % 1000000000u);
	timerfd_settime(h->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

void helpers_free(struct helpers *h)
{
	struct helper *p;

	if (!h)
		return;
	while ((p = LIST_FIRST(&h->idle)) || (p = LIST_FIRST(&h->busy)))
		helper_end(h, p);
	while ((p = LIST_FIRST(&h->ending))) {
		LIST_REMOVE(p, next);
		helper_free(h, p);
	}
	helpers_bury(h);
	/* The exit of this process closes the remaining descriptors without waiting for peers. */
	free(h->waiting);
	if (h->spawner >= 0)
		close(h->spawner);
	if (h->timer >= 0)
		close(h->timer);
	if (h->epoll >= 0)
		close(h->epoll);
	free(h);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* An idle or a new helper, moved to the busy list. */
struct helper *helper_take(struct helpers *h)
{
	struct helper *p = LIST_FIRST(&h->idle);

	if (p) {
		LIST_REMOVE(p, next);
		h->idle_n--;
	} else if (h->n < h->max) {
		p = helper_new(h);
	}
	if (p)
		LIST_INSERT_HEAD(&h->busy, p, next);
	return p;
}

int helper_order(struct helpers *h, struct helper *p, uint32_t job, const void *arg,
			size_t len, const int *fds, unsigned int nfds, unsigned int ms)
{
	const struct helper_order order = { .job = job };
	int err = message_send(p->socket, &order, sizeof(order), arg, len, fds, nfds,
			       MSG_DONTWAIT);

	if (err) {
		helper_end(h, p);
		return err;
	}
	p->deadline = helper_now() + ms * 1000000ull;
	helpers_arm(h);
	return 0;
}

int helper_start(struct helpers *h, struct helper_task *t, unsigned int job, const void *arg,
		 size_t len, const int *fds, unsigned int nfds, unsigned int ms)
{
	struct helper *p;
	int err;

	t->helper = NULL;
	t->result = 0;
	if (len > HELPER_MAX_ARG || nfds > HELPER_MAX_FDS)
		return -EMSGSIZE;
	/* An idle helper may have been killed from outside: then try another. */
	do {
		p = helper_take(h);
		if (!p)
			return h->n >= h->max ? -EAGAIN : -EIO;
		err = helper_order(h, p, job, arg, len, fds, nfds, ms);
	} while (err == -EPIPE || err == -ECONNRESET);
	if (err)
		return err;
	p->task = t;
	p->charged = t;
	p->over = t->over;
	t->helper = p;
	return 0;
}

/* The call is over for the task; the helper may still hang in it. */
static void helper_give_up(struct helpers *h, struct helper *p, int result)
{
	if (p->task) {
		p->task->helper = NULL;
		p->task->result = result;
	}
	helper_end(h, p);
}

void helper_leave(struct helper_task *t)
{
	if (t->helper)
		t->helper->task = NULL;
	t->helper = NULL;
}

void helper_cancel(struct helpers *h, struct helper_task *t)
{
	if (t->helper)
		helper_give_up(h, t->helper, -ECANCELED);
	helpers_arm(h);
}

enum helper_state helper_read(struct helpers *h, struct helper_task *t, struct helper_part *part)
{
	struct helper *p = t->helper;
	struct helper_answer answer;
	long n;

	part->nfds = 0;
	if (!p)
		return HELPER_END;
	n = message_receive(p->socket, &answer, sizeof(answer), h->data, sizeof(h->data), part->fds,
			    &part->nfds, MSG_DONTWAIT);
	if (n == -EAGAIN)
		return HELPER_LATER;
	if (n >= (long)sizeof(answer) && !answer.end) {
		part->data = h->data;
		part->len = (size_t)n - sizeof(answer);
		return HELPER_PART;
	}
	if (n < (long)sizeof(answer)) {
		/* The helper has died during the call. */
		helper_give_up(h, p, -EIO);
	} else {
		t->helper = NULL;
		t->result = answer.result;
		helper_done(h, p, answer.end);
	}
	helpers_arm(h);
	return HELPER_END;
}

void helper_wait(struct helpers *h, const struct helper_task *t)
{
	uint64_t now = helper_now();
	struct helper *p = t->helper;
	struct pollfd fd = { .fd = p ? p->socket : -1, .events = POLLIN };

	if (!p)
		return;
	if (p->deadline > now)
		(void)poll(&fd, 1, (int)((p->deadline - now) / 1000000u + 1));
	if (!fd.revents && helper_now() >= p->deadline)
		helper_give_up(h, p, -ETIMEDOUT);
	helpers_arm(h);
}

/* --- events ----------------------------------------------------------------------------------- */

int helpers_fd(const struct helpers *h)
{
	return h->epoll;
}

/* The task of this helper has been left or given up: the answer is dropped, the end counts. */
void helper_drain(struct helpers *h, struct helper *p)
{
	struct helper_answer answer;
	int fds[HELPER_MAX_FDS];
	unsigned int nfds;
	long n = message_receive(p->socket, &answer, sizeof(answer), h->data, sizeof(h->data), fds,
				 &nfds, MSG_DONTWAIT);

	for (unsigned int i = 0; i < nfds; i++)
		close(fds[i]);
	if (n == -EAGAIN)
		return;
	if (n < (long)sizeof(answer)) {
		h->idle_n -= !p->deadline;
		helper_end(h, p);
	} else if (answer.end) {
		helper_done(h, p, answer.end);
	}
}

static struct helper *helpers_expired(const struct helpers *h, uint64_t now)
{
	struct helper *p;

	LIST_FOREACH(p, &h->busy, next)
		if (p->deadline <= now)
			return p;
	return NULL;
}

/* From the start each time: ready() may have changed the list. */
static void helpers_expire(struct helpers *h)
{
	uint64_t unused, now = helper_now();
	struct helper *p;

	(void)!read(h->timer, &unused, sizeof(unused));
	while ((p = helpers_expired(h, now))) {
		struct helper_task *t = p->task;

		helper_give_up(h, p, -ETIMEDOUT);
		if (t)
			t->ready(t);
	}
}

/* The process is gone.  Unless it was killed here, the end of its socket is read first. */
void helper_exited(struct helpers *h, struct helper *p)
{
	p->exited = true;
	helper_fd_close(h, &p->pidfd);
	if (p->socket >= 0)
		return;
	LIST_REMOVE(p, next);
	helper_free(h, p);
}

static void helpers_lose(struct helpers *h)
{
	h->lost = true;
	epoll_ctl(h->epoll, EPOLL_CTL_DEL, h->spawner, NULL);
}

static void helper_event(struct helpers *h, struct helper *p, bool exited)
{
	if (exited) {
		if (p->pidfd >= 0)
			helper_exited(h, p);
	} else if (p->socket < 0) {
		return;			/* ended by an event before this one */
	} else if (p->task) {
		p->task->ready(p->task);
	} else {
		helper_drain(h, p);
	}
}

void helpers_run(struct helpers *h)
{
	struct epoll_event e[EVENTS];
	int n = epoll_wait(h->epoll, e, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		struct helper *p = (struct helper *)(uintptr_t)(e[i].data.u64 & ~EXIT);
		bool exited = e[i].data.u64 & EXIT;

		if (p)
			helper_event(h, p, exited);
		else if (exited)
			helpers_lose(h);
		else
			helpers_expire(h);
	}
	helpers_arm(h);
}

bool helpers_lost(const struct helpers *h)
{
	return h->lost;
}

unsigned int helpers_alive(const struct helpers *h)
{
	return h->n;
}

unsigned int helpers_waiting(const struct helpers *h)
{
	return h->waiting_n;
}

/* Keeps helpers ready, also for a time when the daemon has run out of descriptors. */
static void helpers_refill(struct helpers *h)
{
	while (h->n < IDLE && h->n < h->max && !h->lost) {
		struct helper *p = helper_new(h);

		if (!p)
			break;
		LIST_INSERT_HEAD(&h->idle, p, next);
		h->idle_n++;
	}
}

void helpers_settle(struct helpers *h)
{
	helpers_bury(h);
	helper_close_waiting(h);
	helpers_refill(h);
}
