#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The library's view: a program of pmc(3) as FreeBSD's manual would have it, and what a read costs.

load helpers

setup() {
	need_root
	command -v cc >/dev/null || skip "no C compiler"
	start_daemon
	cd "$BATS_TEST_TMPDIR" || return
	TREE_DIR=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
}

@test "PERF-001, PERF-002, PERF-007, PERF-010, PERF-374, REQ-075, REQ-005: a program of pmc(3) alone allocates, attaches, counts, reads, writes, releases" {
	libpmc_program <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/types.h>
		#include <pmc.h>

		#define CHECK(call) do { if ((call) < 0) { perror(#call); return 1; } } while (0)

		int main(int argc, char **argv)
		{
			pmc_value_t old, now;
			pmc_id_t id;

			(void)argc;
			CHECK(pmc_init());
			CHECK(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id));
			CHECK(pmc_attach(id, atoi(argv[1])));
			CHECK(pmc_set(id, 1000));
			CHECK(pmc_start(id));
			puts("started");
			fflush(stdout);
			getchar();
			CHECK(pmc_read(id, &now));
			CHECK(pmc_stop(id));
			CHECK(pmc_rw(id, 5, &old));
			printf("%zu %lu %lu ", sizeof(id), (unsigned long)now, (unsigned long)old);
			CHECK(pmc_read(id, &now));
			CHECK(pmc_detach(id, atoi(argv[1])));
			CHECK(pmc_release(id));
			printf("%lu %d\n", (unsigned long)now, pmc_read(id, &now));
			return 0;
		}
	C
	workload w pages=300
	mkfifo go
	./prog "${WORKLOAD[w]}" <go >out 3>&- & client=$!
	exec {go}>go
	wait_for grep -q started out
	work w
	echo >&"$go"
	wait "$client"
	[ "$(tail -n 1 out)" = "4 $((1000 + minflt)) $((1000 + minflt)) 5 -1" ]
}

@test "REQ-011: reading sends no request: own counts, and other processes' counts while they rest" {
	libpmc_program <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/types.h>
		#include <pmc.h>

		int main(int argc, char **argv)
		{
			struct pmc_driverstats a, b;
			pmc_value_t first, v = 0, rests;
			pmc_id_t own, other;
			int fell = 0;

			(void)argc;
			if (pmc_init() || pmc_allocate("TASK_CLOCK", PMC_MODE_TC, 0, PMC_CPU_ANY, &own) ||
			    pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &other) ||
			    pmc_attach(other, atoi(argv[1])) || pmc_start(own) || pmc_set(other, 7) ||
			    pmc_read(own, &first) || pmc_get_driver_stats(&a))
				return 1;
			for (int i = 0; i < 1000; i++) {
				pmc_value_t last = v;

				if (pmc_read(own, &v))
					return 1;
				fell += v < last;
			}
			for (int i = 0; i < 1000; i++)
				if (pmc_read(other, &rests) || rests != 7)
					return 1;
			if (pmc_get_driver_stats(&b))
				return 1;
			printf("%d %d %u\n", v > first, fell, b.pm_syscalls - a.pm_syscalls);
			return 0;
		}
	C
	workload w pages=1
	run ./prog "${WORKLOAD[w]}"
	[ "$output" = "1 0 1" ]
}

@test "REQ-011, REQ-025: privileged users read a CPU's counter without the daemon, others through it" {
	libpmc_program <<-'C'
		#define _DEFAULT_SOURCE
		#include <stdio.h>
		#include <sys/types.h>
		#include <time.h>
		#include <unistd.h>
		#include <pmc.h>

		static pmc_value_t now(void)
		{
			struct timespec ts;

			clock_gettime(CLOCK_MONOTONIC, &ts);
			return ts.tv_sec * 1000000000ull + ts.tv_nsec;
		}

		int main(int argc, char **argv)
		{
			struct pmc_driverstats a, b;
			pmc_value_t first, v, last, rests, again, stopped;
			pmc_id_t id;
			int fell = 0;

			(void)argv;
			if (argc > 1 && setuid(65534))
				return 1;
			if (pmc_init() || pmc_allocate("CPU_CLOCK", PMC_MODE_SC, 0, 0, &id) ||
			    pmc_write(id, 1000) || pmc_start(id) || pmc_read(id, &first) ||
			    pmc_get_driver_stats(&a))
				return 1;
			v = first;
			for (int i = 0; i < 100; i++) {
				last = v;
				if (pmc_read(id, &v))
					return 1;
				fell += v < last;
			}
			if (pmc_get_driver_stats(&b) || pmc_stop(id) || pmc_read(id, &rests))
				return 1;
			stopped = now();
			if (pmc_start(id) || pmc_read(id, &again))
				return 1;
			stopped = now() - stopped;
			printf("%u: %d %d %d %d %d\n", b.pm_syscalls - a.pm_syscalls - 1, fell, first > 1000,
			       rests > v, again > rests, again - rests < stopped + stopped / 100);
			if (pmc_release(id))
				return 1;
			return 0;
		}
	C
	stop_daemon
	start_daemon -o security.bsd.unprivileged_syspmcs=1
	run ./prog
	[ "$output" = "0: 0 1 1 1 1" ]
	run ./prog nobody
	[ "$output" = "100: 0 1 1 1 1" ]
}

# The conditions of pmc_get_msr(3) in their order; a register that counts takes hardware.
@test "REQ-170: pmc_get_msr() refuses what no register counts, with the reason, and leaves the number alone" {
	libpmc_program <<-'C'
		#include <errno.h>
		#include <stdio.h>
		#include <pmc.h>

		static int get(pmc_id_t id)
		{
			uint32_t msr = 77;

			return pmc_get_msr(id, &msr) == 0 || printf("%d %d %s\n", errno, (int)msr, pmc_errstr()) < 0;
		}

		static int made(enum pmc_mode mode, uint32_t flags, int cpu, pmc_id_t *id)
		{
			return pmc_allocate("PAGE_FAULT.ALL", mode, flags, cpu, id, 0) || get(*id);
		}

		int main(void)
		{
			pmc_id_t id = 0xfff30f00;

			return pmc_init() || get(id) || made(PMC_MODE_SC, 0, 0, &id) ||
			       made(PMC_MODE_TC, PMC_F_DESCENDANTS, PMC_CPU_ANY, &id) ||
			       made(PMC_MODE_TC, 0, PMC_CPU_ANY, &id) || get(id + 100) || pmc_attach(id, 0) || get(id) ||
			       pmc_start(id) || get(id) || pmc_get_msr(id, NULL) == 0 || puts(pmc_errstr()) < 0;
		}
	C
	run -0 ./prog
	diff - <(sed 's/0x[0-9a-f]*/ID/' <<<"$output") <<-'END'
	3 77 this process owns no PMC; allocate one first
	22 77 only a process-scope PMC without PMC_F_DESCENDANTS is read from a register
	22 77 only a process-scope PMC without PMC_F_DESCENDANTS is read from a register
	22 77 this PMC is not attached to its owner alone; start it, or attach it to process 0
	22 77 this process owns no PMC with the handle ID
	38 77 counters of class SOFT have no register that programs read; use pmc_read()
	38 77 this PMC is not read from a register; use pmc_read()
	msr is a null pointer
	END
}

@test "REQ-188: the library returns the daemon's version" {
	libpmc_program <<-'C'
		#include <stdio.h>
		#include <pmc.h>

		int main(void)
		{
			if (pmc_init())
				return 1;
			printf("%d %d %d\n", pmc_ncpu() > 0, pmc_npmc(0) >= 16, PMC_VERSION == 0x0a030000);
			return 0;
		}
	C
	run ./prog
	[ "$output" = "1 1 1" ]
}

@test "signal handlers read while the program is inside library calls, without deadlock" {
	libpmc_program <<-'C'
		#define _GNU_SOURCE
		#include <pmc.h>
		#include <signal.h>
		#include <stdio.h>
		#include <sys/time.h>
		#include <unistd.h>

		static pmc_id_t stopped, running;
		static volatile sig_atomic_t handled, failed;

		static void on_timer(int sig)
		{
			pmc_value_t v;

			(void)sig;
			failed += pmc_read(stopped, &v) != 0 || pmc_read(running, &v) != 0 ||
				  pmc_write(stopped, 5) != 0;
			handled++;
		}

		#define CHECK(call) do { if ((call) != 0) { fprintf(stderr, #call ": %s\n", pmc_errstr()); return 1; } } while (0)

		int main(void)
		{
			struct itimerval timer = { { 0, 300 }, { 0, 300 } };
			struct sigaction action;
			pmc_value_t last = 0, v;
			pmc_id_t id;

			signal(SIGIO, SIG_IGN);
			CHECK(pmc_init());
			CHECK(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &stopped, 0));
			CHECK(pmc_attach(stopped, 0));
			CHECK(pmc_allocate("TASK_CLOCK", PMC_MODE_TC, 0, PMC_CPU_ANY, &running, 0));
			CHECK(pmc_start(running));
			action.sa_handler = on_timer;
			action.sa_flags = SA_RESTART;
			sigemptyset(&action.sa_mask);
			sigaction(SIGALRM, &action, NULL);
			setitimer(ITIMER_REAL, &timer, NULL);
			while (handled < 1000 && !failed) {
				CHECK(pmc_allocate("TASK_CLOCK", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0));
				CHECK(pmc_start(id));
				for (int i = 0; i < 100; i++) {
					CHECK(pmc_read(running, &v));
					if (v < last)
						return 2;
					last = v;
					CHECK(pmc_read(id, &v));
				}
				CHECK(pmc_stop(id));
				CHECK(pmc_release(id));
			}
			return failed ? 3 : 0;
		}
	C
	run timeout 120 ./prog
	status_is 0
}

@test "after closefrom(3) calls fail with EBADF, and files with the same numbers stay untouched" {
	libpmc_program <<-'C'
		#define _GNU_SOURCE
		#include <errno.h>
		#include <fcntl.h>
		#include <pmc.h>
		#include <stdio.h>
		#include <sys/stat.h>
		#include <unistd.h>

		int main(void)
		{
			pmc_value_t v;
			pmc_id_t id;
			struct stat st;
			int file;

			close(0);
			if (pmc_init() || pmc_allocate("TASK_CLOCK", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0) || pmc_start(id))
				return 1;
			if (open("/dev/null", O_RDONLY) != 0)
				return 2;
			closefrom(3);
			file = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
			if (write(file, "eightbytes", 10) != 10 || lseek(file, 0, SEEK_SET) != 0)
				return 3;
			for (int fd = 4; fd < 1024; fd++)
				dup2(file, fd);
			if (pmc_stop(id) != -1 || errno != EBADF)
				return 4;
			puts(pmc_errstr());
			if (pmc_read(id, &v) != -1 || errno != EBADF)
				return 5;
			if (fstat(file, &st) || st.st_size != 10 || lseek(file, 0, SEEK_CUR) != 0)
				return 6;
			closefrom(3);
			if (pmc_init() || pmc_allocate("TASK_CLOCK", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0) || pmc_start(id) ||
			    pmc_read(id, &v))
				return 7;
			return 0;
		}
	C
	run ./prog
	status_is 0
	[[ $output == *"closed the library's connection"* ]]
}

@test "SIGIO reaches a program with a handler, and does not end one without" {
	libpmc_program <<-'C'
		#define _GNU_SOURCE
		#include <pmc.h>
		#include <signal.h>
		#include <unistd.h>

		static volatile sig_atomic_t handled;

		static void on_io(int sig)
		{
			(void)sig;
			handled = 1;
		}

		int main(void)
		{
			pmc_value_t v;
			pmc_id_t id;

			/* Asking for a PMC without a target raises it, as on FreeBSD. */
			if (pmc_init() || pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0))
				return 1;
			for (int i = 0; i < 50; i++)
				if (pmc_read(id, &v))
					return 2;
			signal(SIGIO, on_io);
			if (pmc_read(id, &v))
				return 3;
			/* It was sent before the reply, and comes before the call returns. */
			return handled ? 0 : 4;
		}
	C
	run timeout 60 ./prog
	status_is 0
}

@test "SIGIO does not end a program under an emulator, whose handlers are not the program's" {
	# The program, and the signals after a PMC that it releases.
	for case in none:0 first:1 later:1 blocked:1; do
		run timeout 120 emulated "${case%:*}"
		[ "$status:$output" = "0:${case#*:}" ] || { echo "$case: $output"; false; }
	done
}

# era API: a program of that time, which samples itself and prints the types of its log's records.
era() {
	{
		[ -z "$1" ] || echo "#define PMC_API $1"
		cat <<-'C'
			#define _GNU_SOURCE
			#include <fcntl.h>
			#include <stdio.h>
			#include <stdlib.h>
			#include <string.h>
			#include <sys/types.h>
			#include <time.h>
			#include <pmc.h>
			#include <pmclog.h>
			#ifndef PMC_API
			#define PMC_API 0
			#endif

			#define CHECK(call) do { if ((call) < 0) { fprintf(stderr, "%s: %s\n", #call, pmc_errstr()); return 1; } } while (0)

			int main(void)
			{
				static struct pmclog_ev ev;
				int fd = open("log", O_RDWR | O_CREAT | O_TRUNC, 0600), n[256] = { 0 };
				time_t now = time(NULL);
				pmc_id_t id;
				void *p;

				CHECK(pmc_init());
				CHECK(pmc_configure_logfile(fd));
				#if PMC_API == 12 || PMC_API == 13
				CHECK(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TS, 0, PMC_CPU_ANY, &id, 1));
				#else
				CHECK(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TS, 0, PMC_CPU_ANY, &id));
				CHECK(pmc_set(id, 1));
				#endif
				CHECK(pmc_attach(id, 0));
				CHECK(pmc_start(id));
				for (int i = 0; i < 100; i++)
					*(volatile char *)malloc(1 << 20) = 1;
				CHECK(pmc_release(id));
				CHECK(pmc_flush_logfile());
				p = pmclog_open(open("log", O_RDONLY));
				while (pmclog_read(p, &ev) == 0) {
					n[ev.pl_type]++;
					if (ev.pl_type == PMCLOG_TYPE_PMCALLOCATE && strcmp(ev.pl_u.pl_a.pl_evname, "PAGE_FAULT.ALL"))
						return 2;
					if (ev.pl_type == PMCLOG_TYPE_PCSAMPLE && (!ev.pl_u.pl_s.pl_pc || ev.pl_u.pl_s.pl_pmcid != id))
						return 3;
				}
				printf("%s clock\n", ev.pl_ts.tv_sec >= now && ev.pl_ts.tv_sec < now + 1000 ? "wall" :
				       (uint64_t)ev.pl_ts.tv_sec == ev.pl_tsc && !ev.pl_ts.tv_nsec ? "log" : "no");
				for (int i = 0; i < 256; i++)
					if (n[i])
						printf("%d ", i);
				printf("\n%s\n", n[PMCLOG_TYPE_PCSAMPLE] + n[PMCLOG_TYPE_CALLCHAIN] >= 100 ? "enough" : "few");
				return ev.pl_state != PMCLOG_EOF;
			}
		C
	} | libpmc_program
	run ./prog
	status_is 0
}

@test "PMC_API=7: the log as of that time: samples without callers, and no later record types" {
	for api in "" 10; do
		era "$api"
		[ "${lines[0]}" = "wall clock" ]
		[[ " ${lines[1]}" == *" 14 "*"16 17 "* ]]
		[ "${lines[2]}" = enough ]
	done
	era 7
	[ "${lines[0]}" = "wall clock" ]
	[[ ${lines[1]} == "3 4 5 6 "* ]]
	for later in 14 15 16 17 18 19 20; do
		[[ " ${lines[1]} " != *" $later "* ]]
	done
	[ "${lines[2]}" = enough ]
}

@test "PMC_API=12 and 13: the log's clock is in pl_ts.tv_sec" {
	for api in 12 13; do
		era $api
		[[ $output == "log clock"* ]] || { echo "$output"; false; }
	done
}

@test "PERF-350: without a free descriptor PMCs are allocated, counted and released, in a child as well" {
	libpmc_program <<-'C'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <pmc.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/resource.h>
		#include <sys/wait.h>
		#include <unistd.h>

		#define CHECK(call) do { if ((call) != 0) { fprintf(stderr, "%s: %s\n", #call, pmc_errstr()); return 1; } } while (0)

		static int counts(const char *event)
		{
			pmc_value_t before, after;
			char *memory = mmap(NULL, 64 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			pmc_id_t id;

			CHECK(pmc_allocate(event, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0));
			CHECK(pmc_start(id));
			CHECK(pmc_read(id, &before));
			for (int i = 0; i < 64; i++)
				memory[i << 12] = 1;
			CHECK(pmc_read(id, &after));
			CHECK(pmc_release(id));
			munmap(memory, 64 << 12);
			if (strcmp(event, "PAGE_FAULT.ALL") == 0 && after - before < 64) {
				fprintf(stderr, "%lu faults\n", (unsigned long)(after - before));
				return 2;
			}
			return 0;
		}

		int main(void)
		{
			const struct rlimit few = { 64, 64 };
			int status, last = -1, fd;

			setrlimit(RLIMIT_NOFILE, &few);
			CHECK(pmc_init());
			while ((fd = open("/dev/null", O_RDONLY)) >= 0)
				last = fd;
			for (int i = 0; i < 3; i++)
				if (counts("PAGE_FAULT.ALL") || counts("TASK_CLOCK"))
					return 3;
			if (fork() == 0)
				_exit(counts("PAGE_FAULT.ALL") || counts("TASK_CLOCK"));
			wait(&status);
			/* Nothing has leaked. */
			close(last);
			if (open("/dev/null", O_RDONLY) != last || open("/dev/null", O_RDONLY) >= 0)
				return 4;
			return status != 0 ? 5 : 0;
		}
	C
	run timeout 60 ./prog
	status_is 0
	wait_for rows_free
}

@test "a child after chroot(2) uses the daemon whose socket is in its new root" {
	libpmc_program <<-'C'
		#define _GNU_SOURCE
		#include <errno.h>
		#include <pmc.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>

		static int allocates(void)
		{
			pmc_value_t v;
			pmc_id_t id;

			return pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0) || pmc_start(id) || pmc_read(id, &v);
		}

		int main(void)
		{
			int status;

			if (pmc_init())
				return 1;
			if (fork() == 0) {
				if (chroot("jail") || chdir("/") || !allocates() || errno != ENOENT)
					_exit(2);
				setenv("PMCBPF_SOCKET", "/pmc.sock", 1);
				_exit(allocates() ? 3 : 0);
			}
			wait(&status);
			return status >> 8;
		}
	C
	mkdir jail
	: >jail/pmc.sock
	mount --bind "$PMCBPF_SOCKET" jail/pmc.sock || skip "no bind mounts here"
	run timeout 60 ./prog
	umount jail/pmc.sock
	status_is 0
}

@test "event_to_json() of <pmcformat.h> and pmc filter -j print the same objects" {
	command -v g++ >/dev/null || skip "no C++ compiler"
	cat >objects.cc <<-'C'
		#include <fcntl.h>
		#include <iostream>
		#include <pmc.h>
		#include <pmcformat.h>

		int main()
		{
			static struct pmclog_ev ev;
			void *p = pmclog_open(open("log", O_RDONLY));

			while (pmclog_read(p, &ev) == 0 || (ev.pl_state == PMCLOG_EOF && ev.pl_type == PMCLOG_TYPE_CLOSELOG)) {
				std::cout << event_to_json(&ev) << "\n";
				if (ev.pl_state == PMCLOG_EOF)
					break;
			}
		}
	C
	g++ -Wall -Wextra -Werror -I"$TREE_DIR/lib/include" -o objects objects.cc -L"$BUILD/lib" -lpmc-compat -Wl,--allow-shlib-undefined
	pmcstat -q -d -E -W -n 1 -P PAGE_FAULT.ALL -p PAGE_FAULT.ALL -O log sh -c 'true; true'
	./objects >objects.json
	pmc filter -j log filtered.json
	[ "$(wc -l <objects.json)" -ge 50 ]
	diff objects.json filtered.json
	python3 -c 'import json
for line in open("objects.json"):
    for key, value in json.loads(line).items():
        assert value is True if key in ("cut", "pointers") else isinstance(value, list if key == "pc" else str), line'
}
