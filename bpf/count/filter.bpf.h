/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decides whether a hit passes the filter, as the kernel does for perf's events: the program gets
 * the record that the kernel would compare.  Its first 8 bytes, which are the same in all events,
 * are not yet there.
 */
#ifndef PMCBPF_FILTER_BPF_H
#define PMCBPF_FILTER_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "filter_abi.h"

#define TEXT_MAX 65535u		/* bytes: a text's length has 16 bits */

const volatile struct abi_filter filter = {};
/*
 * 0, the index at which loops begin.  Verifiers before Linux 6.7 follow one round of a loop.  If
 * the loop began with a constant, they would remove the code that only later rounds run.
 */
__u32 filter_begin = 0;

static __always_inline s64 number_extend(u64 value, u32 size, bool is_signed)
{
	const u32 shift = 64 - 8 * size;

	return is_signed ? (s64)(value << shift) >> shift : (s64)(value << shift >> shift);
}

static __always_inline bool number_matches(const volatile struct abi_condition *p, u64 value)
{
	const u64 wanted = p->value;
	const bool less = p->is_signed ? (s64)value < (s64)wanted : value < wanted;

	switch (p->comparison) {
	case ABI_COMPARE_EQ:
		return value == wanted;
	case ABI_COMPARE_LT:
		return less;
	case ABI_COMPARE_LE:
		return less || value == wanted;
	case ABI_COMPARE_GT:
		return !less && value != wanted;
	case ABI_COMPARE_GE:
		return !less;
	default:
		return value & wanted;
	}
}

static __always_inline bool number_holds(const volatile struct abi_condition *p, void *record)
{
	u32 size = p->size;
	u64 value = 0;

	barrier_var(size);	/* or its bounds are lost */
	if (p->operand == ABI_OPERAND_CPU)
		value = bpf_get_smp_processor_id();
	else if (p->operand == ABI_OPERAND_PID)
		value = (u32)bpf_get_current_pid_tgid();
	else if (size <= sizeof(value))
		bpf_probe_read_kernel(&value, size, record + p->offset);
	return number_matches(p, number_extend(value, size, p->is_signed));
}

/*
 * A text is compared character by character.  `matched` of the pattern's are those before the
 * current one; a pattern that begins anywhere goes on with what may still match, and looks at the
 * same character again.
 */
struct text {
	const void *at;			/* in the kernel's memory, or … */
	u32 user;			/* … in the program's */
	u32 next, end;			/* the current character; behind the last one */
	u32 first, length;		/* of the pattern */
	u32 matched, comparison;
};

static __always_inline u8 text_read(const void *at, bool user)
{
	u8 c = 0;

	if (user)
		bpf_probe_read_user(&c, 1, at);
	else
		bpf_probe_read_kernel(&c, 1, at);
	return c;
}

static __always_inline char pattern_at(const struct text *t, u32 i)
{
	return i < t->length ? filter.text[(t->first + i) & (ABI_CONDITION_TEXT - 1)] : 0;
}

static __always_inline bool text_is_anywhere(const struct text *t)
{
	return t->comparison == ABI_COMPARE_END || t->comparison == ABI_COMPARE_INSIDE;
}

/* True: the verdict is known. */
static __always_inline bool text_decided(const struct text *t)
{
	return t->matched == t->length && (t->comparison == ABI_COMPARE_INSIDE ||
					   t->comparison == ABI_COMPARE_BEGIN);
}

static long text_next(u32 i, struct text *t)
{
	u32 n = t->matched;
	char c;

	if (t->next >= t->end)
		return 1;
	c = (char)text_read(t->at + t->next, t->user);
	if (!c) {
		t->end = t->next;
		return 1;
	}
	if (n < t->length && pattern_at(t, n) == c) {
		t->matched = n + 1;
		t->next++;
	} else if (text_is_anywhere(t) && n) {
		t->matched = filter.again[(t->first + n - 1) & (ABI_CONDITION_TEXT - 1)];
	} else if (text_is_anywhere(t)) {
		t->next++;
	} else {
		t->comparison = ABI_COMPARE_FAILED;
		return 1;
	}
	return text_decided(t);
}

/* A glob is compared in one pass, whatever the pattern. */
struct glob_run {
	const void *at;
	u32 user;
	u32 next, end, which;
	u64 state;
};

static long glob_next(u32 i, struct glob_run *r)
{
	const volatile struct abi_glob *g = &filter.glob[r->which & (ABI_GLOBS - 1)];
	u8 c;

	if (r->next >= r->end)
		return 1;
	c = text_read(r->at + r->next, r->user);
	if (!c)
		return 1;
	r->state = (r->state & g->takes[c]) << 1 | (r->state & g->stars);
	r->next++;
	return !r->state;
}

static __noinline bool glob_holds(const void *at, u32 length, u32 which, bool user)
{
	const volatile struct abi_condition *p = &filter.condition[which & (ABI_CONDITIONS - 1)];
	struct glob_run r = {
		.at = at, .end = length ?: TEXT_MAX, .next = filter_begin, .which = p->text,
		.state = 1 | filter_begin, .user = user,
	};

	bpf_loop(r.end, glob_next, &r, 0);
	return r.state >> (p->length & 63) & 1;
}

static __noinline bool text_holds(const void *at, u32 length, u32 which, bool user)
{
	const volatile struct abi_condition *p = &filter.condition[which & (ABI_CONDITIONS - 1)];
	/* Without a length the text ends with NUL. */
	struct text t = {
		.at = at, .first = p->text, .length = p->length, .comparison = p->comparison,
		.end = length ?: TEXT_MAX, .next = filter_begin, .matched = filter_begin,
		.user = user,
	};

	if (t.comparison == ABI_COMPARE_GLOB)
		return glob_holds(at, length, which, user);
	if (t.comparison != ABI_COMPARE_WHOLE && length < t.length)
		return false;
	if (!text_decided(&t))
		bpf_loop(2 * t.end, text_next, &t, 0);
	if (t.comparison == ABI_COMPARE_FAILED)
		return false;
	/* A text without NUL matches a pattern that it begins. */
	return t.matched == t.length || (t.comparison == ABI_COMPARE_WHOLE && t.end == length);
}

/* The kernel reads as much, without a fault; it takes no text for one that is not in memory. */
static __always_inline bool user_text_holds(const volatile struct abi_condition *p, void *record,
					    u32 which)
{
	u64 at = 0;
	u8 first;

	bpf_probe_read_kernel(&at, sizeof(at), record + p->offset);
	if (bpf_probe_read_user(&first, 1, (void *)at))
		return false;
	return text_holds((void *)at, ABI_USER_TEXT, which, true) != p->is_not;
}

static __always_inline bool text_condition_holds(const volatile struct abi_condition *p,
						 void *record, u32 which)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	const void *at = record + p->offset;
	u32 word = 0;

	if (p->operand == ABI_OPERAND_USER)
		return user_text_holds(p, record, which);
	if (p->operand == ABI_OPERAND_COMM)
		return text_holds(task->comm, sizeof(task->comm), which, false);
	if (p->operand == ABI_OPERAND_TEXT)
		return text_holds(at, p->size, which, false);
	bpf_probe_read_kernel(&word, sizeof(word), at);
	at = p->operand == ABI_OPERAND_REL ? at + sizeof(word) : record;
	return text_holds(at + (word & 0xffff), word >> 16, which, false);
}

struct filter_run {
	void *record;
	u32 at;				/* the condition, or the verdict */
};

static long filter_next(u32 i, struct filter_run *run)
{
	u32 which = run->at & (ABI_CONDITIONS - 1);
	const volatile struct abi_condition *p = &filter.condition[which];
	bool holds = p->operand >= ABI_OPERAND_TEXT ?
			     text_condition_holds(p, run->record, which) :
			     number_holds(p, run->record);

	run->at = holds ? p->yes : p->no;
	return run->at >= ABI_FILTER_HIT;
}

static __always_inline bool filter_admits(void *record)
{
	struct filter_run run = { .record = record, .at = filter_begin };

	if (!filter.n)
		return true;
	bpf_loop(ABI_CONDITIONS, filter_next, &run, 0);
	return run.at == ABI_FILTER_HIT;
}

#endif
