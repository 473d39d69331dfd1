/* SPDX-License-Identifier: BSD-2-Clause */
/* No trace rings: what operations do with rings is in tests/e2e/ktr_kernel.bats. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/ktr/ktr.h"

struct ktr {
	struct ktr_conf conf;
};

int ktr_new(struct ktr **out, unsigned int ncpu, struct reason *why)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void ktr_free(struct ktr *k) { free(k); }

int ktr_configure(struct ktr *k, const struct ktr_conf *conf, struct reason *why)
{
	k->conf = *conf;
	return 0;
}

void ktr_now(struct ktr *k, struct ktr_conf *conf) { *conf = k->conf; }
uint64_t ktr_ticket(struct ktr *k) { return 0; }
int ktr_result(struct ktr *k, uint64_t ticket, struct reason *why) { return 0; }
int ktr_event(const struct ktr *k) { return -1; }
void ktr_seen(struct ktr *k, struct reason *note) { note->text[0] = '\0'; }
void ktr_info(struct ktr *k, struct wire_ktr *info) { memset(info, 0, sizeof(*info)); }
int ktr_freeze(struct ktr *k, const struct ktr_asker *by, struct reason *why) { return -ENXIO; }
int ktr_thaw(struct ktr *k, const struct ktr_asker *by, struct reason *why) { return -ENXIO; }
int ktr_clear(struct ktr *k, struct reason *why) { return -ENXIO; }

int ktr_mark(struct ktr *k, const struct ktr_asker *by, const char *text, struct reason *why)
{
	return -ENXIO;
}

int ktr_open(struct ktr *k, bool whole, struct reason *why) { return -ENXIO; }
