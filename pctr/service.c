/* SPDX-License-Identifier: BSD-2-Clause */
/* The core's source of counters.  libpmc-compat keeps the connection, and there is one of it. */
#include <errno.h>

#include <pmc.h>

#include "lib/base/sockname.h"
#include "machine.h"
#include "service.h"

static bool service_has_hardware(const struct pmc_cpuinfo *info)
{
	for (uint32_t i = 0; i < info->pm_nclass; i++)
		switch (info->pm_classes[i].pm_class) {
		case PMC_CLASS_IAP:
		case PMC_CLASS_K8:
		case PMC_CLASS_ARMV8:
			if (info->pm_classes[i].pm_num)
				return true;
			break;
		default:
			break;
		}
	return false;
}

static int service_connect(void *arg)
{
	const struct pmc_cpuinfo *info;

	if (sockname_require() || pmc_init() || pmc_cpuinfo(&info))
		return -errno;
	return service_has_hardware(info);
}

/*
 * Specifier, mode and CPU are valid, so EINVAL means that no counter is left.  EPERM has another
 * meaning for the device's users.
 */
static int service_error(int error)
{
	switch (error) {
	case EINVAL:
		return -EBUSY;
	case EPERM:
		return -EACCES;
	default:
		return -error;
	}
}

static int service_allocate(void *arg, const char *spec, unsigned int cpu, uint32_t *id)
{
	return pmc_allocate(spec, PMC_MODE_SC, 0, (int)cpu, id, 0) ? service_error(errno) : 0;
}

static int service_start(void *arg, uint32_t id)
{
	return pmc_start(id) ? -errno : 0;
}

static int service_stop(void *arg, uint32_t id)
{
	return pmc_stop(id) ? -errno : 0;
}

static int service_read(void *arg, uint32_t id, uint64_t *value)
{
	return pmc_read(id, value) ? -errno : 0;
}

/* Also after an error the PMC is gone. */
static void service_release(void *arg, uint32_t id)
{
	(void)pmc_release(id);
}

static int service_pmu(void *arg, unsigned int cpu, char *name, size_t size)
{
	return machine_pmu(cpu, name, size);
}

static uint64_t service_tsc(void *arg)
{
	return machine_tsc();
}

static const char *service_reason(void *arg)
{
	return pmc_errstr();
}

const struct source service_source = {
	.connect = service_connect, .allocate = service_allocate, .start = service_start,
	.stop = service_stop, .read = service_read, .release = service_release,
	.pmu = service_pmu, .tsc = service_tsc, .reason = service_reason,
};
