/* SPDX-License-Identifier: BSD-2-Clause */
/* Function words of pctr(4): from options, and as a reading shows them; OpenBSD's formats. */
#include <errno.h>
#include <string.h>

#include "lib/base/number.h"
#include "pctr.h"

#define EVENT(word)	(uint8_t)(word)
#define UNIT(word)	(uint8_t)((word) >> PCTR_UM_SHIFT)
#define THRESHOLD(word) (uint8_t)((word) >> PCTR_CM_SHIFT)

#define COLUMNS 70		/* columns of a description in the list, without indentation */
#define INDENT	6

const struct pctr_event *pctr_event_find(const struct pctr_model *model, uint32_t function)
{
	const struct pctr_event *any = NULL;

	for (size_t i = 0; i < model->table->n; i++) {
		const struct pctr_event *e = &model->table->events[i];

		if (e->event != EVENT(function))
			continue;
		if (!(e->flags & PCTR_ONE_UNIT))
			any = e;
		else if (e->unit == UNIT(function))
			return e;
	}
	return any;
}

static const struct pctr_event *word_first(const struct pctr_model *model, uint32_t event)
{
	for (size_t i = 0; i < model->table->n; i++)
		if (model->table->events[i].event == event)
			return &model->table->events[i];
	return NULL;
}

int pctr_word(const struct pctr_model *model, const struct pctr_choice *choice, uint32_t *function)
{
	const struct pctr_event *e = word_first(model, choice->event);
	uint32_t unit = choice->unit << PCTR_UM_SHIFT | choice->lines;
	uint32_t rings = choice->flags & (PCTR_U | PCTR_K);

	*function = 0;
	if (choice->event == 0 && unit == 0)
		return 0;
	if (model->complete && !e)
		return -ENOENT;
	if (e && e->flags & PCTR_UNIT && unit == 0)
		return -EINVAL;
	/* An event of cache lines needs at least one state: the default is all. */
	if (e && e->flags & PCTR_MESI && unit == 0 && !choice->has_unit)
		unit = PCTR_UM_MESI;
	*function = PCTR_EN | choice->event | unit | choice->flags |
		    (rings ? 0 : PCTR_U | PCTR_K) | choice->threshold << PCTR_CM_SHIFT;
	return 0;
}

/* The letters of a unit mask, '-' for a bit that is not set; "" if the event has none. */
static void word_unit_letters(const struct pctr_event *e, uint32_t function, char letters[6])
{
	static const struct {
		uint8_t flag;
		char letter;
		uint32_t bit;
	} marks[] = {
		{ PCTR_MESI, 'M', PCTR_UM_M }, { PCTR_MESI, 'E', PCTR_UM_E },
		{ PCTR_MESI, 'S', PCTR_UM_S }, { PCTR_MESI, 'I', PCTR_UM_I },
		{ PCTR_AGENTS, 'A', PCTR_UM_A },
	};

	for (size_t i = 0; e && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (e->flags & marks[i].flag)
			*letters++ = function & marks[i].bit ? marks[i].letter : '-';
	*letters = '\0';
}

void pctr_word_put(struct buf *out, const struct pctr_model *model, uint32_t function)
{
	const struct pctr_event *e = pctr_event_find(model, function);
	char letters[6];

	buf_printf(out, "%c%c%c%c %02x %02x ", function & PCTR_I ? 'i' : '-',
		   function & PCTR_E ? 'e' : '-', function & PCTR_K ? 'k' : '-',
		   function & PCTR_U ? 'u' : '-', EVENT(function), UNIT(function));
	if (THRESHOLD(function))
		buf_printf(out, "+%d", THRESHOLD(function));
	if (!model->named)
		return;
	word_unit_letters(e, function, letters);
	buf_printf(out, " %s %s", letters, e ? e->name : "unknown function");
}

void pctr_reading_put(struct buf *out, const struct pctr_model *model, const struct pctrst *state,
		      unsigned int counters)
{
	for (unsigned int i = 0; i < counters; i++) {
		buf_printf(out, " ctr%d = %16llu  [", i, state->pctr_hwc[i]);
		pctr_word_put(out, model, state->pctr_fn[i]);
		buf_printf(out, "]\n");
	}
	buf_printf(out, "  tsc = %16llu\n", state->pctr_tsc);
}

unsigned int pctr_counters(const struct pctr_model *model, const struct pctrst *state)
{
	unsigned int n = model->counters;

	for (unsigned int i = n; i < PCTR_NUM; i++)
		if (state->pctr_fn[i])
			n = i + 1;
	return n;
}

/* Wraps the text between words. */
static void word_put_description(struct buf *out, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t len = strcspn(text, " ");
		bool fits = column && column + 1 + len <= COLUMNS;

		if (column && !fits)
			buf_printf(out, "\n");
		buf_printf(out, "%*s%.*s", fits ? 1 : INDENT, "", (int)len, text);
		column = fits ? column + 1 + len : len;
		text += len + (text[len] == ' ');
	}
	buf_printf(out, "\n");
}

void pctr_event_put(struct buf *out, const struct pctr_event *event)
{
	buf_printf(out, "%02x  %s%s%s%s%s%s\n", event->event, event->name,
		   event->flags & PCTR_MESI ? "  (MESI)" : "",
		   event->flags & PCTR_AGENTS ? "  (A)" : "",
		   event->flags & PCTR_CTR0 ? "  (ctr0 only)" : "",
		   event->flags & PCTR_CTR1 ? "  (ctr1 only)" : "",
		   event->flags & PCTR_UNIT ? "  (needs unit mask)" : "");
	word_put_description(out, event->text);
}

int pctr_byte(const char *text, uint32_t *value)
{
	uint64_t number;

	if (number_parse(text, 16, 0xff, &number))
		return -EINVAL;
	*value = (uint32_t)number;
	return 0;
}
