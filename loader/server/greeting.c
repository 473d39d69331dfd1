/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection is a descriptor, and descriptors outlive an exec.  If a set-id program inherits a
 * connection and writes its caller's words to it, that program's rights would decide.  So a
 * connection belongs to one image of one process, and it may do what the process had the right to
 * do at connect() and still has:
 *
 *	connect()   The kernel stores the caller's credentials in the socket.
 *	accept()    The process is registered: from here on each exec makes a note.
 *	            Its credentials are read; they must not exceed those of connect().
 *	            No note has been made since it was registered.
 *	a request   Notes are taken in first; an exec ends all connections of its process.
 *	            Credentials are read again; they must not exceed those of the greeting.
 *
 * The last check is needed beside the notes: a packet that was sent before an exec may be read when
 * the new image has its credentials, but its note has not arrived.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "greeting.h"
#include "loader/kernel/kernel.h"
#include "peer.h"

_Static_assert((int)ABI_ID_REAL == ID_REAL && (int)ABI_ID_EFFECTIVE == ID_EFFECTIVE &&
	       (int)ABI_ID_SAVED == ID_SAVED, "ids");

static int greeting_check(struct daemon *d, int fd, const struct cred *now, struct reason *why)
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

static int greeting_identify(struct daemon *d, int fd, pid_t pid, int pidfd, struct cred *cred,
			     struct reason *why)
{
	int err;

	/* Reads, then checks that the process still exists: only then is the data its own. */
	if (d->read_cred(pid, cred) || policy_pidfd_exited(pidfd))
		return deny(why, -ESRCH, "the connecting process has exited");
	err = greeting_check(d, fd, cred, why);
	if (!err && notes_owner_execed(d->engine->notes, pid))
		err = deny(why, -EPERM, "process %d has become another program while it connected; "
			   "connect again", cred->inner_pid);
	return err;
}

int greeting_take(struct daemon *d, int fd, struct cred *cred, int *pidfd, struct reason *why)
{
	pid_t pid;
	int err = peer_process(fd, &pid, pidfd, why);

	if (err)
		return err;
	/* A note of an earlier process of that number does not count for this connection. */
	greeting_forget(d, pid);
	err = notes_owner_begin(d->engine->notes, pid);
	if (err)
		err = deny(why, -ENOMEM, "no room for one more process with connections: %s",
			   strerror(-err));
	else
		err = greeting_identify(d, fd, pid, *pidfd, cred, why);
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
