/* SPDX-License-Identifier: BSD-2-Clause */
/* The doctor's local gates.  pmcbpfd -t has the same text for the conditions that it checks. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "gates.h"

#define MIN_MAJOR 6
#define MIN_MINOR 1

/* The inode numbers of the initial namespaces, the same on every machine. */
#define INITIAL_USER_NS 4026531837ull
#define INITIAL_PID_NS	4026531836ull

#define CAP_SYS_PTRACE_ 19
#define CAP_SYS_ADMIN_	21
#define CAP_PERFMON_	38

static void text_make_printable(char *text)
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
}

void gate_add(struct gates *gates, enum pmc_gate_state state, const char *name, const char *remedy,
	      const char *format, ...)
{
	struct pmc_gate *gate = &gates->gate[gates->count];
	va_list args;

	if (gates->count == GATES_MAX)
		return;
	gates->count++;
	gate->pg_state = state;
	snprintf(gate->pg_name, sizeof(gate->pg_name), "%s", name);
	snprintf(gate->pg_remedy, sizeof(gate->pg_remedy), "%s", remedy);
	va_start(args, format);
	vsnprintf(gate->pg_finding, sizeof(gate->pg_finding), format, args);
	va_end(args);
	text_make_printable(gate->pg_finding);
}

/* --- files ---------------------------------------------------------------------------------- */

/* Reads the beginning of a file.  0, or -errno and an empty text. */
static int gate_read_file(const char *root, const char *name, char *text, size_t size)
{
	char path[512];
	ssize_t n;
	int fd;

	text[0] = '\0';
	if (snprintf(path, sizeof(path), "%s%s", root, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	text[n] = '\0';
	return 0;
}

static int gate_read_line(const char *root, const char *name, char *text, size_t size)
{
	int err = gate_read_file(root, name, text, size);

	text[strcspn(text, "\n")] = '\0';
	return err;
}

/* Reads a file that holds a number.  0 or -errno; -EINVAL: it holds something else. */
static int gate_read_number(const char *root, const char *name, long *number)
{
	char text[64], *end;
	int err = gate_read_line(root, name, text, sizeof(text));

	if (err)
		return err;
	errno = 0;
	*number = strtol(text, &end, 10);
	while (isspace((unsigned char)*end))
		end++;
	return end == text || *end || errno ? -EINVAL : 0;
}

static unsigned long long file_inode(const char *root, const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", root, name);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* --- the kernel ------------------------------------------------------------------------------ */

static void gate_kernel(struct gates *gates, const char *root)
{
	unsigned int major, minor;
	char release[80];

	if (gate_read_line(root, "/proc/sys/kernel/osrelease", release, sizeof(release)) != 0 ||
	    sscanf(release, "%u.%u", &major, &minor) != 2)
		gate_add(gates, PMC_GATE_CLOSED, "kernel", "is /proc mounted?",
			 "this kernel's release names no version");
	else if (major > MIN_MAJOR || (major == MIN_MAJOR && minor >= MIN_MINOR))
		gate_add(gates, PMC_GATE_OPEN, "kernel", "", "Linux %.40s; pmcbpfd needs %u.%u",
			 release, MIN_MAJOR, MIN_MINOR);
	else
		gate_add(gates, PMC_GATE_CLOSED, "kernel", "boot a newer one",
			 "Linux %.40s is older than %u.%u, the first kernel with all that "
			 "pmcbpfd's BPF programs need", release, MIN_MAJOR, MIN_MINOR);
}

static void gate_btf(struct gates *gates, const char *root)
{
	static const char *const name = "kernel types (/sys/kernel/btf/vmlinux)";

	if (file_inode(root, "/sys/kernel/btf/vmlinux") != 0)
		gate_add(gates, PMC_GATE_OPEN, name, "", "there");
	else
		gate_add(gates, PMC_GATE_CLOSED, name,
			 "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y", "missing");
}

/* The file reads "none [integrity] confidentiality". */
static void gate_lockdown(struct gates *gates, const char *root)
{
	static const char *const name = "kernel lockdown";
	char text[128], *level;
	int err = gate_read_line(root, "/sys/kernel/security/lockdown", text, sizeof(text));

	if (err == -EACCES || err == -EPERM) {
		gate_add(gates, PMC_GATE_OPEN, name, "", "may not be looked at");
		return;
	}
	level = strchr(text, '[');
	if (err || !level || !strchr(level, ']')) {
		gate_add(gates, PMC_GATE_OPEN, name, "", "not in this kernel");
		return;
	}
	level++;
	*strchr(level, ']') = '\0';
	if (strcmp(level, "none") == 0)
		gate_add(gates, PMC_GATE_OPEN, name, "", "none");
	else if (strcmp(level, "confidentiality") == 0)
		gate_add(gates, PMC_GATE_LIMITS, name,
			 "to have those, boot without lockdown=confidentiality",
			 "confidentiality: counting works; kprobes, and BPF programs of others "
			 "that copy kernel memory, are blocked");
	else
		gate_add(gates, PMC_GATE_OPEN, name, "",
			 "%s: blocks raw MSRs and /dev/mem, not counting", level);
}

static void gate_paranoid(struct gates *gates, const char *root)
{
	static const char *const name = "kernel.perf_event_paranoid";
	long level;
	int err = gate_read_number(root, "/proc/sys/kernel/perf_event_paranoid", &level);

	if (err == -ENOENT)
		gate_add(gates, PMC_GATE_CLOSED, name,
			 "boot a kernel built with CONFIG_PERF_EVENTS=y",
			 "this kernel has no perf events");
	else if (err)
		gate_add(gates, PMC_GATE_OPEN, name, "", "cannot be read: %s", strerror(-err));
	else
		gate_add(gates, PMC_GATE_OPEN, name, "",
			 "%ld: restricts users of perf, not of pmcbpf, whose counters pmcbpfd "
			 "opens", level);
}

static void gate_watchdog(struct gates *gates, const char *root)
{
	static const char *const name = "kernel.nmi_watchdog";
	long on;

	if (gate_read_number(root, "/proc/sys/kernel/nmi_watchdog", &on) != 0)
		gate_add(gates, PMC_GATE_OPEN, name, "", "not in this kernel");
	else if (on == 0)
		gate_add(gates, PMC_GATE_OPEN, name, "", "0: takes no counter");
	else
		gate_add(gates, PMC_GATE_LIMITS, name,
			 "sysctl kernel.nmi_watchdog=0, then systemctl reload pmcbpfd (SIGHUP), "
			 "which looks for counters again",
			 "%ld: the NMI watchdog may hold one hardware counter of every CPU", on);
}

void gates_of_kernel(struct gates *gates, const char *root)
{
	gate_kernel(gates, root);
	gate_btf(gates, root);
	gate_lockdown(gates, root);
	gate_paranoid(gates, root);
	gate_watchdog(gates, root);
}

/* --- the caller ------------------------------------------------------------------------------ */

static bool capability_has(unsigned long long set, int cap)
{
	return set >> cap & 1;
}

/* The effective capabilities; false if they cannot be read. */
static bool capability_read(const char *root, unsigned long long *effective)
{
	char text[4096], *line;

	if (gate_read_file(root, "/proc/self/status", text, sizeof(text)) != 0)
		return false;
	line = strstr(text, "\nCapEff:");
	if (!line)
		return false;
	*effective = strtoull(line + strlen("\nCapEff:"), NULL, 16);
	return true;
}

static bool capability_is_privileged(unsigned long long effective)
{
	return capability_has(effective, CAP_PERFMON_) || capability_has(effective, CAP_SYS_ADMIN_);
}

static void gate_capabilities(struct gates *gates, unsigned long long effective, bool initial)
{
	static const char *const name = "capabilities";
	const char *where = initial ? "" : " in this user namespace";

	if (initial && capability_is_privileged(effective))
		gate_add(gates, PMC_GATE_OPEN, name, "",
			 "%s: whole CPUs, all processes, administration",
			 capability_has(effective, CAP_PERFMON_) ? "CAP_PERFMON" : "CAP_SYS_ADMIN");
	else if (capability_has(effective, CAP_SYS_PTRACE_))
		gate_add(gates, PMC_GATE_LIMITS, name,
			 "CAP_PERFMON or CAP_SYS_ADMIN outside of a container allows whole CPUs "
			 "and administration", "CAP_SYS_PTRACE: processes of other users%s", where);
	else
		gate_add(gates, PMC_GATE_LIMITS, name,
			 "CAP_PERFMON or CAP_SYS_ADMIN outside of a container allows whole CPUs, "
			 "all processes and administration; CAP_SYS_PTRACE others' processes",
			 "none that matters%s: your own processes", where);
}

/* Attaching to a process requires the right to debug it. */
static void gate_yama(struct gates *gates, const char *root, unsigned long long effective,
		      bool initial)
{
	static const char *const name = "kernel.yama.ptrace_scope";
	bool all = initial && capability_is_privileged(effective);
	bool most = capability_has(effective, CAP_SYS_PTRACE_);
	long scope;
	int err = gate_read_number(root, "/proc/sys/kernel/yama/ptrace_scope", &scope);

	if (err == -ENOENT)
		gate_add(gates, PMC_GATE_OPEN, name, "", "not in this kernel");
	else if (err)
		gate_add(gates, PMC_GATE_LIMITS, name, "is /proc mounted?", "cannot be read: %s",
			 strerror(-err));
	else if (scope <= 0 || all || (most && scope <= 2))
		gate_add(gates, PMC_GATE_OPEN, name, "", "%ld: does not restrict you", scope);
	else if (scope == 1)
		gate_add(gates, PMC_GATE_LIMITS, name,
			 "start other processes yourself, get CAP_SYS_PTRACE, or sysctl "
			 "kernel.yama.ptrace_scope=0",
			 "1: you can measure yourself and your descendants");
	else
		gate_add(gates, PMC_GATE_LIMITS, name,
			 scope == 2 ? "others take CAP_SYS_PTRACE, or kernel.yama.ptrace_scope=0" :
				      "others take CAP_PERFMON, or kernel.yama.ptrace_scope=0 at "
				      "the next boot", "%ld: you can measure yourself", scope);
}

void gates_of_caller(struct gates *gates, const char *root)
{
	unsigned long long user = file_inode(root, "/proc/self/ns/user"), effective = 0;
	unsigned long long pid = file_inode(root, "/proc/self/ns/pid");
	bool initial = user == INITIAL_USER_NS;

	if (capability_read(root, &effective))
		gate_capabilities(gates, effective, initial);
	else
		gate_add(gates, PMC_GATE_LIMITS, "capabilities", "is /proc mounted?",
			 "/proc/self/status does not show them");
	gate_yama(gates, root, effective, initial);
	if (!initial)
		gate_add(gates, PMC_GATE_LIMITS, "container", "run on the host for whole CPUs",
			 "yes, with a user namespace of its own: processes in it only");
	else if (pid != INITIAL_PID_NS)
		gate_add(gates, PMC_GATE_LIMITS, "container",
			 "run on the host, or with CAP_PERFMON, for whole CPUs",
			 "yes, with a pid namespace of its own: you see, and can measure, the "
			 "processes in it");
	else
		gate_add(gates, PMC_GATE_OPEN, "container", "", "no");
}

/* --- the socket ------------------------------------------------------------------------------ */

bool gate_of_socket(struct gates *gates)
{
	const char *chosen = secure_getenv("PMCBPF_SOCKET");
	const char *path = chosen && *chosen ? chosen : PMCBPF_RUNDIR "/pmcbpf/pmc.sock";
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	/* At the usual place pmc_init() starts a private daemon for root. */
	bool own = geteuid() == 0 && path != chosen;
	int fd, err = 0;

	if (strlen(path) >= sizeof(sun.sun_path)) {
		gate_add(gates, PMC_GATE_CLOSED, "socket", "name a shorter one in PMCBPF_SOCKET",
			 "the socket's name %s is too long", path);
		return false;
	}
	strcpy(sun.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sun, sizeof(sun)) != 0)
		err = errno;
	if (fd >= 0)
		close(fd);
	if (!err)
		gate_add(gates, PMC_GATE_OPEN, "socket", "", "%s can be connected to", path);
	else if (err == EACCES || err == EPERM)
		gate_add(gates, PMC_GATE_CLOSED, "socket",
			 "its mode and that of its folder must let you write and enter (pmcbpfd "
			 "makes it for everybody)", "you may not connect to %s", path);
	else if (err == ENOENT || err == ECONNREFUSED)
		gate_add(gates, own ? PMC_GATE_LIMITS : PMC_GATE_CLOSED, "socket",
			 "start it as root, with \"pmcbpfd\" or \"systemctl start pmcbpfd\"",
			 "no pmcbpfd answers at %s", path);
	else
		gate_add(gates, PMC_GATE_CLOSED, "socket", "", "no connection to %s: %s", path,
			 strerror(err));
	return !err;
}
