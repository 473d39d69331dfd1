/* SPDX-License-Identifier: BSD-2-Clause */
/* pmccontrol -c -e -d.  Every id is checked before the first row changes. */
#include <errno.h>
#include <stdlib.h>

#include <pmc.h>

#include "lib/base/array.h"
#include "cli/common/common.h"
#include "pmccontrol.h"

int admin_add(struct control *control, bool enable, int row)
{
	if (array_extend(control->admin, control->nadmin))
		return fail_errno(EX_OSERR, "ERROR");
	control->admin[control->nadmin++] = (struct admin){ enable, control->cpu, row };
	return 0;
}

static int admin_check_ids(const struct control *control, int ncpu, int npmc)
{
	for (size_t i = 0; i < control->nadmin; i++) {
		const struct admin *admin = &control->admin[i];

		if (admin->cpu >= ncpu)
			return fail(EX_DATAERR, "CPU id too large: \"%d\"", admin->cpu);
		if (admin->row >= npmc)
			return fail(EX_DATAERR, "PMC id too large: \"%d\"", admin->row);
	}
	return 0;
}

/* "*" skips CPUs that are offline; a number of one is an error. */
static int admin_change(const struct admin *admin, int cpu, int row)
{
	int err = admin->enable ? pmc_enable(cpu, row) : pmc_disable(cpu, row);

	if (err == 0 || (errno == ENXIO && admin->cpu == CTL_ALL))
		return 0;
	return fail_pmc(EX_OSERR, "%s of PMC %d on CPU %d failed",
			admin->enable ? "Enable" : "Disable", row, cpu);
}

static int admin_change_rows(const struct admin *admin, int cpu, int npmc)
{
	int code = 0;

	if (admin->row != CTL_ALL)
		return admin_change(admin, cpu, admin->row);
	for (int row = 0; row < npmc && !code; row++)
		code = admin_change(admin, cpu, row);
	return code;
}

int admin_run(const struct control *control)
{
	int ncpu = pmc_ncpu();
	int npmc = pmc_npmc(0);
	int code;

	if (ncpu < 0)
		return fail_pmc(EX_OSERR, "Unable to determine the number of CPUs");
	if (npmc <= 0)
		return fail(EX_CONFIG, "No PMCs found");
	code = admin_check_ids(control, ncpu, npmc);
	for (size_t i = 0; i < control->nadmin && !code; i++) {
		const struct admin *admin = &control->admin[i];

		if (admin->cpu != CTL_ALL)
			code = admin_change_rows(admin, admin->cpu, npmc);
		for (int cpu = 0; admin->cpu == CTL_ALL && cpu < ncpu && !code; cpu++)
			code = admin_change_rows(admin, cpu, npmc);
	}
	return code;
}
