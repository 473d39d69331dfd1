/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PMCBPF_TESTS_LINGERING_H
#define PMCBPF_TESTS_LINGERING_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

/* A TCP socket of loopback with data that its peer does not read: close() waits for hours. */
static int lingering(int *peer)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger l = { .l_onoff = 1, .l_linger = 10000 };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char data[4096] = { 0 };

	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	*peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		continue;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)), 0);
	return fd;
}

#endif
