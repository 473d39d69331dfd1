/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of turns: work.c over connections and operations of the test's own. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loader/base/clock.h"
#include "loader/server/server.h"
#include "loader/pmc/pmc_release.h"
#include "loader/op/logbook.h"
#include "loader/server/work.h"
#include "unit.h"

#define CROWD 100u

/* A connection, the client's end of it, and the result of its request. */
struct peer {
	struct client c;		/* first: a client is its peer */
	int fd;
	unsigned int slices, answers;	/* slices: that its operation takes after the first */
	bool parks, closed;
};

static struct daemon d;
static struct server s;
static struct user users[2];
static struct owner owners[CROWD + 1];
static struct peer peers[CROWD + 1];
static struct peer *order[4 * CROWD];	/* the users of the slices */
static unsigned int norder, nended;
static struct fiber *parked;
static struct owner *late;		/* the owner whose log lacks targets */
static bool any_late;
static unsigned int nlate;
static struct owner *first_owner;

/* --- functions that work.c calls -------------------------------------------------------------- */

static void use_slice_up(void)
{
	uint64_t until = clock_ns() + 1100000u;

	while (clock_ns() < until)
		continue;
}

void op_handle(struct daemon *unused, struct session *session, const struct packet *m,
	       struct reply *r)
{
	struct peer *p = (struct peer *)((char *)session - offsetof(struct client, session));

	order[norder++] = p;
	for (unsigned int i = 0; i < p->slices; i++) {
		use_slice_up();
		fiber_breathe(d.errands.fibers);
		order[norder++] = p;
	}
	if (p->parks) {
		parked = fiber_current(d.errands.fibers);
		fiber_park(d.errands.fibers);
		order[norder++] = p;
	}
}

void client_answer(struct server *server, struct client *c, const struct reply *r)
{
	((struct peer *)c)->answers++;
}

/* As client.c's, without a connection's other resources. */
void client_close(struct server *server, struct client *c)
{
	if (!work_withdraw(server, c)) {
		c->closing = true;
		return;
	}
	((struct peer *)c)->closed = true;
	if (c->session.owner)
		work_end_owner(server, c->session.owner);
	c->session.owner = NULL;
	close(c->socket.fd);
	c->socket.fd = -1;
}

void logbook_end(struct daemon *unused, struct owner *o) { nended++; }

bool lifetime_late(struct lifetime *l)
{
	bool any = any_late;

	any_late = false;
	return any;
}

void lifetime_retry(struct lifetime *l, struct pmc *p) { any_late = true; }
bool logbook_is_late(const struct owner *o) { return o == late; }

void logbook_late(struct daemon *unused, struct owner *o)
{
	assert_ptr_equal(o, late);
	late = NULL;
	nlate++;
	parked = fiber_current(d.errands.fibers);
	fiber_park(d.errands.fibers);
}

void watch_change(int epoll, struct watch *w, uint32_t events) {}
void clients_resume(struct server *server) {}
void server_catch_up(struct server *server) {}
void pmc_release_all(struct row_table *rows, struct owner *o) {}
void owner_put(struct owner_table *t, struct owner *o) {}
void owner_end(struct owner_table *t, struct owner *o) { o->ended = true; }
void reply_end(struct reply *r) {}
void reply_finish(struct reply *r, uint16_t op, uint32_t seq, int err) {}
const char *op_name(unsigned int op) { return "?"; }
void watchdog_begin(struct watchdog *w) {}
void watchdog_end(struct watchdog *w, unsigned int kind) {}

/* Descriptors are loader_receive.c's subject. */
int errand_begin(struct errands *es, struct user *u, enum errand_job job, const void *arg,
		 size_t len, const int *fds, unsigned int nfds, unsigned int ms,
		 struct errand **out, struct reason *why)
{
	return deny(why, -EIO, "no helpers");
}

int errand_next(struct errand *e, struct helper_part *part) { return -EIO; }
void errand_end(struct errand *e) {}
int logdest_check(int fd, struct logdest *dest, struct reason *why) { return 0; }
void client_greeted(struct server *server, struct client *c) {}

/* --- the connections -------------------------------------------------------------------------- */

static void connect_peer(struct peer *p, struct user *u, struct owner *o)
{
	int pair[2], on = 1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	*p = (struct peer){ .fd = pair[0], .c.socket.fd = pair[1], .c.session.owner = o };
	o->user = u;
	p->c.next = s.clients;
	s.clients = &p->c;
}

static void request(struct peer *p)
{
	assert_int_equal(send(p->fd, "request", 7, 0), 7);
	work_offer(&s, &p->c);
}

static int begin(void **state)
{
	s = (struct server){ .d = &d };
	TAILQ_INIT(&s.turns);
	TAILQ_INIT(&s.works);
	TAILQ_INIT(&s.spare);
	memset(users, 0, sizeof(users));
	memset(owners, 0, sizeof(owners));
	TAILQ_INIT(&users[0].works);
	TAILQ_INIT(&users[1].works);
	d.errands.fibers = fibers_new();
	norder = nended = nlate = 0;
	late = NULL;
	any_late = false;
	d.owners = (struct owner_table){ .bucket = &first_owner, .buckets = 1 };
	first_owner = NULL;
	return 0;
}

static int end(void **state)
{
	works_finish(&s);
	for (struct client *c = s.clients; c; c = c->next) {
		close(((struct peer *)c)->fd);
		if (c->socket.fd >= 0)
			close(c->socket.fd);
	}
	works_free(&s);
	fibers_free(d.errands.fibers);
	return 0;
}

/* --- the rules -------------------------------------------------------------------------------- */

/* However many connections a user has ready, another's request waits for one slice of his. */
static void test_users_take_turns(void **state)
{
	struct peer *alone = &peers[CROWD];

	for (unsigned int i = 0; i < CROWD; i++) {
		connect_peer(&peers[i], &users[0], &owners[i]);
		peers[i].slices = 1;
		request(&peers[i]);
	}
	connect_peer(alone, &users[1], &owners[CROWD]);
	alone->slices = 2;
	request(alone);
	for (unsigned int turn = 0; turn < 3; turn++) {
		works_run(&s);
		/* One slice of each. */
		assert_int_equal(norder, 2 * (turn + 1));
		assert_ptr_not_equal(order[2 * turn], alone);
		assert_ptr_equal(order[2 * turn + 1], alone);
	}
	assert_int_equal(alone->answers, 1);
	while (works_ready(&s))
		works_run(&s);
	for (unsigned int i = 0; i < CROWD; i++)
		assert_int_equal(peers[i].answers, 1);
}

/* Within a user all have turns: the served connection moves behind the others. */
static void test_connections_take_turns(void **state)
{
	for (unsigned int i = 0; i < 3; i++) {
		connect_peer(&peers[i], &users[0], &owners[i]);
		peers[i].slices = 2;
		request(&peers[i]);
	}
	while (works_ready(&s))
		works_run(&s);
	assert_int_equal(norder, 9);
	for (unsigned int i = 0; i < norder; i++)
		assert_ptr_equal(order[i], &peers[i % 3]);
}

static void begin_late(struct owner *o)
{
	late = o;
	any_late = true;
	first_owner = o;
	works_late(&s);
}

/* No request of an owner starts while its log is completed, and the owner's end waits, too. */
static void test_late(void **state)
{
	connect_peer(&peers[0], &users[0], &owners[0]);
	begin_late(&owners[0]);
	assert_true(owners[0].busy);
	works_run(&s);
	assert_int_equal(nlate, 1);
	request(&peers[0]);
	assert_true(peers[0].c.blocked);
	client_close(&s, &peers[0].c);
	assert_true(peers[0].closed);
	works_run(&s);
	assert_int_equal(nended, 0);
	fiber_wake(parked);
	works_run(&s);
	assert_true(owners[0].busy);
	works_run(&s);
	assert_int_equal(nended, 1);
	assert_int_equal(norder, 0);
	assert_false(owners[0].busy);
}

/* It waits for the request under way. */
static void test_late_while_busy(void **state)
{
	connect_peer(&peers[0], &users[0], &owners[0]);
	peers[0].parks = true;
	request(&peers[0]);
	works_run(&s);
	begin_late(&owners[0]);
	assert_false(works_ready(&s));
	assert_true(any_late);
	fiber_wake(parked);
	works_run(&s);
	assert_int_equal(peers[0].answers, 1);
	works_late(&s);
	assert_false(any_late);
	works_run(&s);
	assert_int_equal(nlate, 1);
	fiber_wake(parked);
	works_run(&s);
	assert_false(owners[0].busy);
	assert_int_equal(nended, 0);
}

/* A request that has not begun is withdrawn, and a connection without a message is no work. */
static void test_closed_before(void **state)
{
	connect_peer(&peers[0], &users[0], &owners[0]);
	request(&peers[0]);
	client_close(&s, &peers[0].c);
	assert_true(peers[0].closed);
	works_run(&s);
	assert_int_equal(norder, 0);
	assert_int_equal(nended, 1);
	connect_peer(&peers[1], &users[0], &owners[1]);
	work_offer(&s, &peers[1].c);
	works_run(&s);
	assert_null(peers[1].c.work);
	assert_false(peers[1].closed);
	assert_int_equal(norder, 0);
}

/* The daemon ends: waiting and yielding operations end at once. */
static void test_finish(void **state)
{
	for (unsigned int i = 0; i < 3; i++) {
		connect_peer(&peers[i], &users[i % 2], &owners[i]);
		peers[i].slices = 3;
		peers[i].parks = i == 1;
		request(&peers[i]);
	}
	works_run(&s);
	works_finish(&s);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(peers[i].answers, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_users_take_turns), TEST(test_connections_take_turns), TEST(test_late),
		TEST(test_late_while_busy), TEST(test_closed_before), TEST(test_finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
