/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace rings without a kernel: what was asked for is so at once, or as soon as a test says. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_ktr.h"

struct ktr {
	struct ktr_conf conf, before;
	uint64_t asked;
	unsigned int freezes;
};

struct fake_ktr fake_ktr;

int ktr_new(struct ktr **out, unsigned int ncpu, struct reason *why)
{
	fake_ktr = (struct fake_ktr){ .ncpu = ncpu };
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void ktr_free(struct ktr *k)
{
	free(k);
}

int ktr_configure(struct ktr *k, const struct ktr_conf *conf, struct reason *why)
{
	if (ktrconf_same(&k->conf, conf))
		return 0;
	k->before = k->conf;
	k->conf = *conf;
	k->asked++;
	fake_ktr.conf = *conf;
	return 0;
}

void ktr_now(struct ktr *k, struct ktr_conf *conf)
{
	*conf = fake_ktr.refuse ? k->before : k->conf;
}

uint64_t ktr_ticket(struct ktr *k)
{
	return k->asked;
}

int ktr_result(struct ktr *k, uint64_t ticket, struct reason *why)
{
	if (fake_ktr.busy)
		return KTR_LATER;
	return fake_ktr.refuse ? deny(why, fake_ktr.refuse, "the kernel has no room") : 0;
}

int ktr_event(const struct ktr *k)
{
	return -1;
}

void ktr_seen(struct ktr *k, struct reason *note)
{
	note->text[0] = '\0';
}

void ktr_info(struct ktr *k, struct wire_ktr *info)
{
	memset(info, 0, sizeof(*info));
	info->ncpu = fake_ktr.ncpu;
	info->compile = k->conf.compile;
	info->frozen = k->freezes;
}

static int no_rings(const struct ktr *k, struct reason *why)
{
	return k->conf.compile ? 0 : deny(why, -ENXIO, "there are no trace rings");
}

int ktr_freeze(struct ktr *k, const struct ktr_asker *by, struct reason *why)
{
	int err = no_rings(k, why);

	k->freezes += !err;
	fake_ktr.asker = by->pid;
	return err;
}

int ktr_thaw(struct ktr *k, const struct ktr_asker *by, struct reason *why)
{
	int err = no_rings(k, why);

	if (!err && !k->freezes)
		return deny(why, -EINVAL, "tracing is not frozen");
	k->freezes -= !err;
	return err;
}

int ktr_clear(struct ktr *k, struct reason *why)
{
	return no_rings(k, why);
}

int ktr_mark(struct ktr *k, const struct ktr_asker *by, const char *text, struct reason *why)
{
	strcpy(fake_ktr.mark, text);
	return no_rings(k, why);
}

int ktr_open(struct ktr *k, bool whole, struct reason *why)
{
	int err = no_rings(k, why);

	fake_ktr.whole = whole;
	return err ? err : open("/dev/null", O_RDONLY | O_CLOEXEC);
}
