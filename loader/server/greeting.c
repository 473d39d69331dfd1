/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection is a descriptor, and descriptors outlive an exec.  What a set-id program writes to
 * one that it has inherited would be judged by the rights of that program, with words of its
 * caller's choice.  So a connection belongs to one image of one process, and what it may do is what
 * the process had the right to at connect() and still has:
 *
 *	connect()   the kernel keeps the caller's credentials with the socket
 *	accept()    the process is registered: from here on each exec makes a note …
 *	            its credentials are read, and must not be more than those of connect()
 *	            it has not exec'd since it was registered
 *	a request   the notes come first, and an exec ends all connections of its process
 *	            credentials are read again, and must not be more than those of the greeting
 *
 * The last line holds without the notes: a message that was sent before an exec may be read while
 * the new image has its credentials already, and its note is not there yet.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "greeting.h"
#include "loader/kernel/notes.h"
#include "peer.h"

_Static_assert((int)ABI_ID_REAL == ID_REAL && (int)ABI_ID_EFFECTIVE == ID_EFFECTIVE &&
	       (int)ABI_ID_SAVED == ID_SAVED, "ids");

static int check_connected(struct daemon *d, int fd, const struct cred *now, struct why *why)
{
	struct cred then = *now;
	struct abi_cred c;
	int err = programs_peer(d->engine->programs, fd, &c);

	if (err)
		return deny(why, -EPERM, "the kernel does not say with which credentials process "
			    "%d has connected: %s", now->inner_pid, strerror(-err));
	memcpy(then.uid, c.uid, sizeof(then.uid));
	memcpy(then.gid, c.gid, sizeof(then.gid));
	then.permitted = c.permitted;
	then.effective = c.effective;
	then.user_ns = c.user_ns;
	if (!policy_grown(&then, now))
		return 0;
	return deny(why, -EPERM, "process %d has ids or capabilities that it did not have when it "
		    "made this connection; connect again", now->inner_pid);
}

static int identify(struct daemon *d, int fd, pid_t pid, int pidfd, struct cred *cred,
		    struct why *why)
{
	int err;

	/* Read, then see that the process still is there: what was read is its own. */
	if (d->read_cred(pid, cred) || policy_pidfd_exited(pidfd))
		return deny(why, -ESRCH, "the connecting process has exited");
	err = check_connected(d, fd, cred, why);
	if (!err && notes_owner_execed(d->engine->notes, pid))
		err = deny(why, -EPERM, "process %d has become another program while it connected; "
			   "connect again", cred->inner_pid);
	return err;
}

int greeting_take(struct daemon *d, int fd, struct cred *cred, int *pidfd, struct why *why)
{
	pid_t pid;
	int err = peer_process(fd, &pid, pidfd, why);

	if (err)
		return err;
	/* An exec that ended earlier owners of that number is not one of this connection's. */
	greeting_forget(d, pid);
	err = notes_owner_begin(d->engine->notes, pid);
	if (err)
		err = deny(why, -ENOMEM, "no room for one more process with connections: %s",
			   strerror(-err));
	else
		err = identify(d, fd, pid, *pidfd, cred, why);
	if (!err)
		return 0;
	greeting_forget(d, pid);
	close(*pidfd);
	*pidfd = -1;
	return err;
}

void greeting_forget(struct daemon *d, pid_t pid)
{
	if (!owner_current(&d->owners, pid))
		notes_owner_end(d->engine->notes, pid);
}
