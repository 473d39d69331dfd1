/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to the companion module, and the messages for its refusals. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kmod/pmcbpf_msr.h"
#include "loader/base/base.h"
#include "msrdev.h"

#define DEVICE	 "/dev/" PMCBPF_MSR_NAME
#define LOCKDOWN "/sys/kernel/security/lockdown"

_Static_assert(MSRLIST_MAX == PMCBPF_MSR_MAX, "one length of a list");

struct msrdev {
	int fd;
};

/* "[none] integrity confidentiality" */
static bool kernel_locked_down(void)
{
	char text[80];

	return !file_line(LOCKDOWN, text, sizeof(text)) && !strstr(text, "[none]");
}

static int msrdev_missing(int err, struct reason *why)
{
	switch (err) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		return deny(why, -ENOENT, "the module " PMCBPF_MSR_NAME " is not loaded: modprobe "
			    PMCBPF_MSR_NAME " (make kmod builds it, DKMS keeps it built), then "
			    "SIGHUP to pmcbpfd");
	case -EBUSY:
		return deny(why, err, DEVICE " is open in another pmcbpfd, and takes one; end that "
			    "one, then SIGHUP");
	case -EPERM:
	case -EACCES:
		if (kernel_locked_down())
			return deny(why, -EPERM, "the kernel is locked down and permits no reads "
				    "of registers (" LOCKDOWN "); boot without lockdown, which "
				    "Secure Boot may turn on");
		return deny(why, -EPERM, "the kernel refuses " DEVICE " to pmcbpfd, which needs "
			    "CAP_SYS_RAWIO, in its service too");
	default:
		return deny(why, err, "cannot open " DEVICE ": %s", strerror(-err));
	}
}

int msrdev_open(struct msrdev **out, struct reason *why)
{
	struct msrdev *dev = malloc(sizeof(*dev));
	__u32 version = 0;
	int err = 0;

	if (!dev)
		return deny(why, -ENOMEM, "no memory");
	dev->fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (dev->fd < 0) {
		err = msrdev_missing(-errno, why);
		free(dev);
		return err;
	}
	if (ioctl(dev->fd, PMCBPF_MSR_IOC_VERSION, &version))
		err = deny(why, -EPROTO, DEVICE " is not the module's: %m");
	else if (version != PMCBPF_MSR_VERSION)
		err = deny(why, -EPROTO, "the module " PMCBPF_MSR_NAME " is of version %u, and "
			   "pmcbpfd " PMCBPF_VERSION " works with %u: make kmod, "
			   "rmmod " PMCBPF_MSR_NAME ", modprobe " PMCBPF_MSR_NAME,
			   version, PMCBPF_MSR_VERSION);
	if (err)
		msrdev_close(dev);
	else
		*out = dev;
	return err;
}

void msrdev_close(struct msrdev *dev)
{
	if (!dev)
		return;
	close(dev->fd);
	free(dev);
}

int msrdev_allow(struct msrdev *dev, const struct msrlist *list, struct reason *why)
{
	struct pmcbpf_msr_entry entry[MSRLIST_MAX];
	struct pmcbpf_msr_list to = {
		.version = PMCBPF_MSR_VERSION, .n = list->n,
		.entries = (__u64)(uintptr_t)entry,
	};

	for (unsigned int i = 0; i < list->n; i++)
		entry[i] = (struct pmcbpf_msr_entry){
			.reg = list->entry[i].reg, .read = list->entry[i].read,
			.write = list->entry[i].write,
		};
	if (!ioctl(dev->fd, PMCBPF_MSR_IOC_LIST, &to))
		return 0;
	if (errno == EPERM)
		return msrdev_missing(-EPERM, why);
	return deny(why, -errno, "the module " PMCBPF_MSR_NAME " does not take the list of "
		    "registers: %m%s",
		    errno == EINVAL ? "; it lists one that the module cannot read" : "");
}

static int msrdev_request(struct msrdev *dev, unsigned long what, struct pmcbpf_msr_io *io)
{
	int n = ioctl(dev->fd, what, io);

	return n < 0 ? -errno : n;
}

int msrdev_read(struct msrdev *dev, uint32_t reg, unsigned int cpu, uint64_t *value)
{
	struct pmcbpf_msr_io io = { .reg = reg, .cpu = cpu };
	int err = msrdev_request(dev, PMCBPF_MSR_IOC_READ, &io);

	if (!err)
		*value = io.value;
	return err;
}

int msrdev_write(struct msrdev *dev, uint32_t reg, unsigned int cpu, uint64_t value, uint64_t *old)
{
	struct pmcbpf_msr_io io = { .reg = reg, .cpu = cpu, .value = value };
	int err = msrdev_request(dev, PMCBPF_MSR_IOC_WRITE, &io);

	if (!err)
		*old = io.value;
	return err;
}

int msrdev_row(struct msrdev *dev, uint32_t reg, unsigned int cpu)
{
	struct pmcbpf_msr_io io = { .reg = reg, .cpu = cpu };

	return msrdev_request(dev, PMCBPF_MSR_IOC_ROW, &io);
}

void msrdev_revoke(int row)
{
	(void)ioctl(row, PMCBPF_MSR_IOC_REVOKE);
}
