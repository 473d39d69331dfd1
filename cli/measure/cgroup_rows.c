/* SPDX-License-Identifier: BSD-2-Clause */
/* --for-each-cgroup: the same events for each of several cgroups, a row of counts each. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "lib/base/array.h"
#include "measure.h"

/* perf's rule: a name with one of these is a regular expression. */
#define PATTERN "{}[]()|*+?^$"

static int cgroup_rows_check(const struct measure *m)
{
	for (size_t i = 0; i < m->ncolumns; i++)
		if (m->columns[i].mode != PMC_MODE_TC || m->columns[i].leader ||
		    m->columns[i].flags & (PMC_F_DESCENDANTS | PMC_F_LOG_PROCEXIT |
					   PMC_F_LOG_PROCCSW))
			return fail(EX_USAGE, "ERROR: --for-each-cgroup is for -p without -d, -E, "
				    "-W and groups.");
	if (m->nwanted || m->threads || m->from != FROM_USUAL)
		return fail(EX_USAGE, "ERROR: --for-each-cgroup is the target: -t, --per-thread, "
			    "--from-exec and --from-fork do not go with it.");
	return m->ncolumns ? 0 : fail(EX_USAGE, "ERROR: --for-each-cgroup requires a -p.");
}

/* The hierarchy by which perf counts: the perf_event controller's, or else version 2. */
static char *cgroup_rows_mount(void)
{
	FILE *file = setmntent("/proc/self/mounts", "r");
	char *top = NULL;
	struct mntent *e;
	bool v1 = false;

	while (file && !v1 && (e = getmntent(file))) {
		v1 = strcmp(e->mnt_type, "cgroup") == 0 && hasmntopt(e, "perf_event");
		if (!v1 && (top || strcmp(e->mnt_type, "cgroup2") != 0))
			continue;
		free(top);
		top = strdup(e->mnt_dir);
	}
	if (file)
		endmntent(file);
	return top;
}

static int cgroup_rows_add(struct measure *m, const char *path, const char *folder)
{
	struct cgroup_row row = { .path = strdup(path), .fd = -1 };

	if (row.path && array_extend(m->cgroups, m->ncgroups) == 0)
		row.fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (row.fd < 0) {
		free(row.path);
		/* It has been removed meanwhile. */
		return errno == ENOENT || errno == ENODEV ? 0 :
		       fail_errno(EX_OSERR, "ERROR: Cannot open the cgroup \"%s\"", path);
	}
	m->cgroups[m->ncgroups++] = row;
	return 0;
}

/* One of the names: found, or at least one cgroup matches it. */
struct cgroup_name {
	regex_t regex;
	bool pattern, met;
	const char *text;
};

static bool cgroup_name_fits(struct cgroup_name *name, const char *path)
{
	bool fits = name->pattern ? regexec(&name->regex, path, 0, NULL, 0) == 0 :
				    strcmp(name->text, path) == 0;

	name->met |= fits;
	return fits;
}

static int cgroup_order(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Each cgroup once, whichever names it fits. */
static int cgroup_rows_walk(struct measure *m, char *top, struct cgroup_name *names, size_t n)
{
	char *const paths[] = { top, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, cgroup_order);
	int code = tree ? 0 : fail_errno(EX_OSERR, "ERROR: Cannot read the cgroups in %s", top);
	FTSENT *entry;

	while (!code && (entry = fts_read(tree))) {
		const char *path = entry->fts_path + strlen(top);
		bool fits = false;

		if (entry->fts_info != FTS_D)
			continue;
		path = *path ? path + (path[1] != '\0') : "/";
		for (size_t i = 0; i < n; i++)
			fits |= cgroup_name_fits(&names[i], path);
		if (fits)
			code = cgroup_rows_add(m, path, entry->fts_path);
	}
	if (tree)
		fts_close(tree);
	return code;
}

static int cgroup_name_compile(struct cgroup_name *name, const char *text)
{
	char why[128];
	int err = 0;

	/* As -t has them: a path that begins with a slash is the same below the mount. */
	name->text = *text == '/' && text[1] ? text + 1 : text;
	name->pattern = strpbrk(text, PATTERN) != NULL;
	if (name->pattern)
		err = regcomp(&name->regex, name->text, REG_NOSUB);
	if (!err)
		return 0;
	regerror(err, &name->regex, why, sizeof(why));
	name->pattern = false;
	return fail(EX_DATAERR, "ERROR: Failed to compile regex \"%s\": %s", text, why);
}

/* Every cgroup has the columns of the first one. */
static int cgroup_rows_expand(struct measure *m)
{
	size_t each = m->ncolumns;
	int code = 0;

	for (size_t i = 0; i < each * (m->ncgroups - 1) && !code; i++) {
		struct column column = m->columns[i % each];

		column.cgroup = 2 + i / each;
		code = pmcs_add(m, &column);
	}
	for (size_t i = 0; i < each; i++)
		m->columns[i].cgroup = 1;
	return code;
}

static int cgroup_rows_match(struct measure *m, char *list, char *top)
{
	struct cgroup_name *names = calloc(strlen(list) / 2 + 1, sizeof(*names));
	char *rest = NULL;
	size_t n = 0;
	int code = 0;

	if (!names)
		return fail_errno(EX_OSERR, "ERROR");
	for (char *text = strtok_r(list, ",", &rest); text && !code;
	     text = strtok_r(NULL, ",", &rest))
		code = cgroup_name_compile(&names[n++], text);
	code = code ? code : cgroup_rows_walk(m, top, names, n);
	for (size_t i = 0; i < n; i++) {
		if (!code && !names[i].met)
			code = fail(EX_DATAERR, "ERROR: No cgroup in %s %s \"%s\".", top,
				    names[i].pattern ? "matches" : "is", names[i].text);
		if (names[i].pattern)
			regfree(&names[i].regex);
	}
	free(names);
	if (!code && !m->ncgroups)
		code = fail(EX_USAGE, "ERROR: --for-each-cgroup needs the name of a cgroup.");
	return code;
}

int cgroup_rows_find(struct measure *m)
{
	char *top, *list;
	int code;

	if (!m->each)
		return 0;
	code = cgroup_rows_check(m);
	if (code)
		return code;
	top = cgroup_rows_mount();
	list = strdup(m->each);
	if (!list)
		code = fail_errno(EX_OSERR, "ERROR");
	else if (!top)
		code = fail(EX_OSERR, "ERROR: No hierarchy of cgroups is mounted: version 2, or "
			    "perf_event's of version 1.");
	else
		code = cgroup_rows_match(m, list, top);
	free(list);
	free(top);
	return code ? code : cgroup_rows_expand(m);
}

int cgroup_rows_fd(const struct measure *m, const struct column *column)
{
	return column->cgroup ? m->cgroups[column->cgroup - 1].fd : targets_cgroup(m);
}

void cgroup_rows_put(struct measure *m, double seconds)
{
	size_t each = m->ncolumns / m->ncgroups;

	for (size_t g = 0; g < m->ncgroups; g++) {
		const struct row_label label = { .name = m->cgroups[g].path };

		m->table.label = &label;
		m->format->row(&m->out.text, &m->table, seconds, m->columns + g * each, each);
	}
	m->table.label = NULL;
}

void cgroup_rows_free(struct measure *m)
{
	for (size_t g = 0; g < m->ncgroups; g++) {
		free(m->cgroups[g].path);
		close(m->cgroups[g].fd);
	}
	free(m->cgroups);
}
