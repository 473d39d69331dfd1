/* SPDX-License-Identifier: BSD-2-Clause */
/* The part that one owner's PMCs share: its page, its counts, its user's account. */
#include <errno.h>
#include <stdlib.h>

#include "account.h"
#include "page.h"
#include "loader/kernel/kernel.h"

int count_owner_new(struct engine *e, pid_t tgid, struct user *user, struct count_owner **out,
		    struct reason *why)
{
	struct count_owner *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	o->e = e;
	o->user = user;
	o->tgid = tgid;
	o->page_fd = -1;
	err = owner_maps_take(e->owner_maps, &o->counts, why);
	if (err) {
		free(o);
		return err;
	}
	err = account_open(e, user, o->counts.slot, why);
	if (err) {
		owner_maps_give(e->owner_maps, &o->counts);
		free(o);
		return err;
	}
	err = page_new(o, why);
	if (err) {
		page_free(o);
		account_close(e, user, o->counts.slot);
		owner_maps_give(e->owner_maps, &o->counts);
		free(o);
		return err;
	}
	*out = o;
	return 0;
}

void count_owner_free(struct count_owner *o)
{
	if (!o)
		return;
	page_free(o);
	account_close(o->e, o->user, o->counts.slot);
	owner_maps_give(o->e->owner_maps, &o->counts);
	free(o);
}

unsigned int count_owner_slot(const struct count_owner *o)
{
	return o->counts.slot;
}

void count_owner_fds(const struct count_owner *o, int fds[2])
{
	fds[0] = o->page_fd;
	fds[1] = o->counts.fd;
}
