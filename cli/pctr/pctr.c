/* SPDX-License-Identifier: BSD-2-Clause */
/* pctr(1): reads and sets the counters of pctr(4), with OpenBSD's options and output. */
#include <openbsd/machine/cpu.h>
#include <openbsd/sys/sysctl.h>

#include "cli/common/common.h"
#include "pctr.h"

static const struct pctr_model *this_cpu(void)
{
	int vendor_name[] = { CTL_MACHDEP, CPU_CPUVENDOR }, id_name[] = { CTL_MACHDEP, CPU_CPUID };
	char vendor[16] = "";
	uint32_t id = 0;
	size_t len = sizeof(vendor), id_len = sizeof(id);

	if (sysctl(vendor_name, 2, vendor, &len, NULL, 0) < 0 ||
	    sysctl(id_name, 2, &id, &id_len, NULL, 0) < 0)
		return pctr_model("", 0);
	return pctr_model(vendor, id);
}

int main(int argc, char *argv[])
{
	struct pctr pctr = { .model = this_cpu(), .ctr = -1, .cpu = -1 };
	bool ended = false;
	int code;

	msg_open_standard();
	code = pctr_parse(&pctr, argc, argv, &ended);
	if (code || ended)
		return code ? FAILED : 0;
	if (pctr.list)
		return pctr_list(pctr.model);
	if (pctr.test)
		return pctr_test();
	return pctr.ctr >= 0 ? pctr_set(&pctr) : pctr_show(&pctr);
}
