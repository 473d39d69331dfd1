/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes records of events of processes. */
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>

#include "process_record.h"

static void path_copy(char *to, const char *path)
{
	if (!strcmp(path, PROC_LONG_PATH))
		path = "[path too long]";
	(void)logrec_path(to, path, LOGREC_PATH);
}

bool process_record_make(struct pmclog_ev *ev, const struct proc_event *e)
{
	switch (e->what) {
	case PROC_FORK:
		ev->pl_type = PMCLOG_TYPE_PROCFORK;
		ev->pl_u.pl_f.pl_oldpid = e->other;
		ev->pl_u.pl_f.pl_newpid = e->pid;
		return true;
	case PROC_EXIT:
		ev->pl_type = PMCLOG_TYPE_SYSEXIT;
		ev->pl_u.pl_se.pl_pid = e->pid;
		return true;
	case PROC_EXEC:
		ev->pl_type = PMCLOG_TYPE_PROCEXEC;
		ev->pl_u.pl_x.pl_pid = e->pid;
		ev->pl_u.pl_x.pl_pmcid = PMC_ID_INVALID;
		ev->pl_u.pl_x.pl_baseaddr = e->addr;
		ev->pl_u.pl_x.pl_entryaddr = e->entry;
		ev->pl_u.pl_x.pl_dynaddr = e->len;
		path_copy(ev->pl_u.pl_x.pl_pathname, e->text);
		return true;
	case PROC_MAP:
		ev->pl_type = PMCLOG_TYPE_MAP_IN;
		ev->pl_u.pl_mi.pl_pid = e->pid;
		ev->pl_u.pl_mi.pl_start = e->addr;
		path_copy(ev->pl_u.pl_mi.pl_pathname, e->text);
		ev->pl_u.pl_mi.pl_buildidlen = e->id.len;
		memcpy(ev->pl_u.pl_mi.pl_buildid, e->id.id, e->id.len);
		return true;
	case PROC_UNMAP:
		ev->pl_type = PMCLOG_TYPE_MAP_OUT;
		ev->pl_u.pl_mo.pl_pid = e->pid;
		ev->pl_u.pl_mo.pl_start = e->addr;
		ev->pl_u.pl_mo.pl_end = e->addr + e->len;
		return true;
	case PROC_THREAD:
	case PROC_NAME:
		ev->pl_type = PMCLOG_TYPE_THR_CREATE;
		ev->pl_u.pl_tc.pl_tid = e->tid;
		ev->pl_u.pl_tc.pl_pid = e->pid;
		ev->pl_u.pl_tc.pl_flags = 0;
		snprintf(ev->pl_u.pl_tc.pl_tdname, PMCLOG_COMM, "%s", e->comm);
		return true;
	case PROC_THREAD_EXIT:
		ev->pl_type = PMCLOG_TYPE_THR_EXIT;
		ev->pl_u.pl_te.pl_tid = e->tid;
		return true;
	case PROC_SECURE:
	case PROC_LOST:
	case PROC_NOTHING:
		break;
	}
	return false;
}
