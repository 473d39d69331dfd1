// SPDX-License-Identifier: GPL-2.0
/*
 * The credentials with which a process connected.  The kernel keeps all of them with the socket
 * that accept() returns; SO_PEERCRED has only two ids, and no capability.
 */
#include "bpf/count/file.bpf.h"
#include "bpf/count/maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define EBADF 9

struct abi_cred peer = {};

/* Run by the daemon, in its own context: (descriptor of an accepted socket); fills in `peer`. */
SEC("raw_tp")
int peer_read(unsigned long long *ctx)
{
	struct socket *sock = (void *)BPF_CORE_READ(file_of(ctx[0]), private_data);
	const struct cred *c = BPF_CORE_READ(sock, sk, sk_peer_cred);

	if (!c)
		return -EBADF;
	peer.uid[ABI_ID_REAL] = BPF_CORE_READ(c, uid.val);
	peer.uid[ABI_ID_EFFECTIVE] = BPF_CORE_READ(c, euid.val);
	peer.uid[ABI_ID_SAVED] = BPF_CORE_READ(c, suid.val);
	peer.gid[ABI_ID_REAL] = BPF_CORE_READ(c, gid.val);
	peer.gid[ABI_ID_EFFECTIVE] = BPF_CORE_READ(c, egid.val);
	peer.gid[ABI_ID_SAVED] = BPF_CORE_READ(c, sgid.val);
	/* Two words before Linux 6.3, one since: 64 bits in the same order. */
	bpf_core_read(&peer.permitted, sizeof(peer.permitted), &c->cap_permitted);
	bpf_core_read(&peer.effective, sizeof(peer.effective), &c->cap_effective);
	peer.user_ns = BPF_CORE_READ(c, user_ns, ns.inum);
	return 0;
}
