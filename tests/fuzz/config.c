/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the parser of pmcbpf.conf: every refusal is one line and names the place. */
#include <stdlib.h>
#include <string.h>

#include "loader/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(void *arg, const char *line)
{
	if (!*line || strchr(line, '\n'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config c;
	struct reason why = { "" };

	config_init(&c);
	if (config_text(&c, "f", (const char *)data, size, &why) &&
	    (strncmp(why.text, "f:", 2) || strchr(why.text, '\n')))
		abort();
	config_check(&c, hear, NULL);
	if (c.value[TUN_HASHSIZE] <= 0 || c.value[TUN_NSAMPLES] <= 0 || c.value[TUN_NBUFFERS] <= 0)
		abort();
	return 0;
}
