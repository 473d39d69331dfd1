/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breakpoints on symbols.  The command stops at its exec, before its first instruction, because it
 * is traced until then.  There its mappings show where it is, and the PMCs are allocated with the
 * addresses, attached and started.  So no access is missed, wherever the program was loaded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "address.h"
#include "place.h"

#define SPEC_MAX 512u
#define KERNEL	 "kernel:"

/* The event behind the name of the class, or NULL. */
static const char *place_event(const char *spec)
{
	static const char class[] = "breakpoint";
	size_t n = sizeof(class) - 1;

	if (!strncmp(spec, "mem:", 4))
		return spec + 4;
	return !strncasecmp(spec, class, n) && spec[n] && strchr(":-_. ", spec[n]) ?
		       spec + n + 1 : NULL;
}

bool place_waits(const struct column *column)
{
	const char *event = PMC_IS_VIRTUAL_MODE(column->mode) ? place_event(column->spec) : NULL;

	return event && strcspn(event, "+/:,") && (*event < '0' || *event > '9') &&
	       strncmp(event, KERNEL, strlen(KERNEL)) != 0;
}

bool place_any(const struct measure *m)
{
	for (size_t i = 0; i < m->ncolumns; i++)
		if (place_waits(&m->columns[i]))
			return true;
	return false;
}

int place_check(const struct measure *m)
{
	if (!place_any(m))
		return 0;
	if (targets_cgroup(m) >= 0 || m->ncgroups)
		return fail(EX_USAGE, "ERROR: a symbol has an address in a process, and a cgroup "
			    "has processes of many programs: write the address of the breakpoint.");
	if (m->child.pid && m->from == FROM_FORK)
		return fail(EX_USAGE, "ERROR: --from-fork: a symbol has an address after the exec "
			    "only: leave the option out, or write addresses.");
	if (m->ntargets && m->from == FROM_EXEC)
		return fail(EX_USAGE, "ERROR: --from-exec: the exec changes the address of a "
			    "symbol: leave the option out, or write addresses.");
	return 0;
}

/* --- specifiers ------------------------------------------------------------------------------- */

/* r, w and x behind a colon; other letters are perf's modifiers, as in "breakpoint:fn:u". */
static bool access_is_given(const char *access)
{
	size_t letters = *access == ':' ? strspn(access + 1, "rwx") : 0;

	return letters && strchr(":,", access[1 + letters]);
}

/*
 * The same event with the symbol's address, and where the specifier has neither, the symbol's
 * length, and x for a function.
 */
static void place_write(const char *spec, const struct address *a, char *out)
{
	const char *event = place_event(spec), *rest = event + strcspn(event, "+/:,");
	size_t offset = strcspn(rest, "/:,"), length = strcspn(rest + offset, ":,");
	const char *access = rest + offset + length;
	bool code = a->code && !access_is_given(access);
	char size[16] = "";

	if (!offset && !length && !a->code && a->size && a->size <= 8 && !(a->size & (a->size - 1)))
		snprintf(size, sizeof(size), "/%" PRIu64, a->size);
	snprintf(out, SPEC_MAX, "breakpoint:0x%" PRIx64 "%.*s%s%s%s", a->value,
		 (int)(offset + length), rest, size, code ? ":x" : "", access);
}

static int place_find_in(const struct column *column, pid_t pid, struct address *a)
{
	const char *event = place_event(column->spec);
	char symbol[SPEC_MAX], why[512];

	snprintf(symbol, sizeof(symbol), "%.*s", (int)strcspn(event, "+/:,"), event);
	if (address_find(pid, symbol, a, why, sizeof(why)) == 0)
		return 0;
	return fail(EX_DATAERR, "ERROR: Cannot allocate process-mode pmc with specification "
		    "\"%s\": %s", column->spec, why);
}

/* The one address that the symbol has in all processes. */
static int place_find(const struct measure *m, const struct column *column, struct address *a)
{
	size_t first = m->child.pid ? 0 : 1;
	int code = place_find_in(column, first ? m->targets[0].pid : m->child.pid, a);

	for (size_t i = first; i < m->ntargets && !code; i++) {
		struct address other;

		code = place_find_in(column, m->targets[i].pid, &other);
		if (!code && other.value != a->value)
			code = fail(EX_DATAERR, "ERROR: \"%s\" has address 0x%" PRIx64 " in "
				    "process %d and others elsewhere: measure one process, or "
				    "write addresses", column->spec, other.value,
				    (int)m->targets[i].pid);
	}
	return code;
}

static int place_column(struct measure *m, struct column *column)
{
	struct address address = { 0 };
	char spec[SPEC_MAX];
	int code = place_find(m, column, &address);

	if (code)
		return code;
	place_write(column->spec, &address, spec);
	return pmcs_join(m, column, spec);
}

int place_all(struct measure *m)
{
	bool held = false;
	int code = 0;

	if (!place_any(m))
		return 0;
	if (m->child.pid) {
		code = child_hold(m, &held);
		if (code || !held)	/* without an exec: the loop reports the reason */
			return code;
	}
	for (size_t i = 0; i < m->ncolumns && !code; i++)
		if (place_waits(&m->columns[i]))
			code = place_column(m, &m->columns[i]);
	return held ? child_release(m, code) : code;
}
