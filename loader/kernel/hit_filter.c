/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See hit_filter.h.  The grammar is the kernel's: conditions FIELD OP VALUE, joined by && and ||,
 * where && binds closer, with ! and parentheses.
 *
 * An expression becomes a tree, whose leaves are conditions in the order of the text.  The numbers
 * of the next conditions follow from that: a part that decides "yes" or "no" goes on where the
 * whole expression does, else with the part behind it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_format.h"
#include "hit_filter.h"
#include "hit_glob.h"
#include "kernel_symbols.h"

#define NODES	   (4 * ABI_CONDITIONS)	/* each joins two others, or inverts one */

enum node_kind { NODE_CONDITION, NODE_AND, NODE_OR, NODE_NOT };

struct node {
	enum node_kind kind;
	unsigned int left, right;	/* NOT: left; a condition: its number in left */
	unsigned int conditions;	/* in it */
};

struct parser {
	const struct engine *e;
	const char *format, *text;	/* of the event; the whole filter */
	bool call;			/* of a system call: texts are missing … */
	bool pointer;			/* … and one is compared with where it should be */
	const char *at;
	struct abi_filter *to;
	struct node node[NODES];
	unsigned int nodes, used;	/* `used`: characters of patterns */
	struct reason *why;
	int err;
};

/* A field of the event, or another value that the kernel knows by a name. */
struct field {
	enum abi_operand operand;
	unsigned int offset, size;
	bool is_signed, is_text, is_address, is_function;
};

static void parser_fail(struct parser *p, int err, const char *what)
{
	if (p->err)
		return;
	p->err = deny(p->why, err, "the filter \"%.80s\"%s: character %td: %s", p->text,
		      p->pointer ? "" : " can be counted, not sampled", p->at - p->text + 1, what);
}

static void parser_pass_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool parser_takes(struct parser *p, const char *word)
{
	parser_pass_blanks(p);
	if (strncmp(p->at, word, strlen(word)))
		return false;
	p->at += strlen(word);
	return true;
}

static unsigned int node_new(struct parser *p, enum node_kind kind, unsigned int left,
			     unsigned int right)
{
	struct node *n = &p->node[p->nodes];

	if (p->nodes + 1 >= NODES) {
		parser_fail(p, -EOPNOTSUPP, "it is too long");
		return 0;
	}
	*n = (struct node){ .kind = kind, .left = left, .right = right, .conditions = 1 };
	if (kind != NODE_CONDITION)
		n->conditions = p->node[left].conditions;
	if (kind == NODE_AND || kind == NODE_OR)
		n->conditions += p->node[right].conditions;
	return p->nodes++;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* The kernel decides by the name of the type, too. */
static bool field_take_format(struct field *f, const struct event_field *from)
{
	*f = (struct field){
		.operand = ABI_OPERAND_FIELD, .offset = from->offset, .size = from->size,
		.is_signed = from->is_signed, .is_text = from->is_array,
		.is_address = from->is_address,
	};
	if (from->elsewhere)
		f->operand = from->behind ? ABI_OPERAND_REL : ABI_OPERAND_DATA;
	else if (from->is_array)
		f->operand = ABI_OPERAND_TEXT;
	if (from->is_array)
		return from->is_text && f->offset + f->size <= UINT16_MAX;
	return (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8) &&
	       f->offset < UINT16_MAX;
}

/* An event's own field goes before the names that all events have. */
static bool field_find(const char *format, const char *name, struct field *f)
{
	struct event_field own;

	while (event_format_next(&format, &own))
		if (!strcmp(own.name, name))
			return field_take_format(f, &own);
	*f = (struct field){ .size = 0 };
	if (!strcmp(name, "common_pid"))
		*f = (struct field){ .operand = ABI_OPERAND_PID, .size = 4, .is_signed = true };
	else if (!strcasecmp(name, "cpu"))
		*f = (struct field){ .operand = ABI_OPERAND_CPU, .size = 4, .is_signed = true };
	else if (!strcasecmp(name, "comm"))
		*f = (struct field){ .operand = ABI_OPERAND_COMM, .size = 16, .is_text = true };
	return f->size != 0;
}

/* --- conditions ------------------------------------------------------------------------------- */

/* In the order in which the kernel looks for them. */
static const struct comparison {
	const char *text;
	enum abi_comparison number;
	bool is_not, of_text;
} comparisons[] = {
	{ "~", ABI_COMPARE_WHOLE, false, true }, { "!=", ABI_COMPARE_EQ, true, true },
	{ "==", ABI_COMPARE_EQ, false, true }, { "<=", ABI_COMPARE_LE, false, false },
	{ "<", ABI_COMPARE_LT, false, false }, { ">=", ABI_COMPARE_GE, false, false },
	{ ">", ABI_COMPARE_GT, false, false }, { "&", ABI_COMPARE_BITS, false, false },
};

static void condition_take_number(struct parser *p, const struct field *f,
				  struct abi_condition *c)
{
	const unsigned int shift = 64 - 8 * f->size;
	char *end;

	if (f->is_text || !(isdigit((unsigned char)*p->at) || *p->at == '-')) {
		parser_fail(p, -EOPNOTSUPP, "a number cannot be compared there");
		return;
	}
	errno = 0;
	c->value = f->is_signed ? (uint64_t)strtoll(p->at, &end, 0) : strtoull(p->at, &end, 0);
	if (errno || end == p->at || isalnum((unsigned char)*end)) {
		parser_fail(p, -EINVAL, "no number");
		return;
	}
	/* The kernel compares in the field's size. */
	c->value = f->is_signed ? (uint64_t)((int64_t)(c->value << shift) >> shift) :
				  c->value << shift >> shift;
	p->at = end;
}

static bool text_has_any(const char *text, size_t len, const char *characters)
{
	return strcspn(text, characters) < len;
}

/* How much of the pattern may still match, for each of its characters. */
static void pattern_learn(const char *pattern, unsigned int length, uint8_t *again)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i < length; i++) {
		while (n && pattern[i] != pattern[n])
			n = again[n - 1];
		n += pattern[i] == pattern[n];
		again[i] = (uint8_t)n;
	}
}

/* A pattern that the kernel takes for a glob: glob_match() in its lib/glob.c. */
static void glob_take(struct parser *p, const char *from, size_t len, struct abi_condition *c)
{
	char pattern[ABI_PATTERN];
	const char *what;
	int err;

	if (p->to->globs >= ABI_GLOBS || len >= sizeof(pattern)) {
		parser_fail(p, -EOPNOTSUPP, "there are too many or too long patterns with a \"*\" "
			    "inside, \"?\", \"[\" or \"\\\"");
		return;
	}
	snprintf(pattern, sizeof(pattern), "%.*s", (int)len, from);
	c->comparison = ABI_COMPARE_GLOB;
	c->text = (uint16_t)p->to->globs;
	err = hit_glob_compile(pattern, &p->to->glob[p->to->globs++], &c->length, &what);
	if (err)
		parser_fail(p, err, what);
}

/* The kernel's patterns; true: "!" inverts it. */
static bool pattern_take(struct parser *p, const char **from, size_t *len,
			 struct abi_condition *c)
{
	bool is_not = *len && **from == '!', first, last;

	*from += is_not;
	*len -= is_not;
	c->comparison = ABI_COMPARE_WHOLE;
	if (!*len || isdigit((unsigned char)**from))
		return is_not;
	first = **from == '*';
	last = *len > 1 && (*from)[*len - 1] == '*';
	if (text_has_any(*from + first, *len - first - last, "*?[\\")) {
		glob_take(p, *from, *len, c);
		return is_not;
	}
	*from += first;
	*len -= (size_t)first + last;
	if (first || last)
		c->comparison = !first ? ABI_COMPARE_BEGIN : last ? ABI_COMPARE_INSIDE :
								    ABI_COMPARE_END;
	return is_not;
}

/* True: the condition is inverted. */
static bool condition_take_text(struct parser *p, const struct field *f, bool pattern,
				struct abi_condition *c)
{
	const char *from = p->at + 1, *end = strchr(from, *p->at);
	bool is_not = false;
	size_t len;

	/* The kernel would look for the text in its own memory, and find none. */
	p->pointer = end && !f->is_text && f->is_address && p->call;
	if (p->pointer)
		parser_fail(p, -EINVAL, "the field points to a text of the program: write .ustring "
			    "behind its name");
	else if (!end || !f->is_text)
		parser_fail(p, -EOPNOTSUPP, "a text cannot be compared there");
	if (p->err)
		return false;
	len = (size_t)(end - from);
	c->comparison = ABI_COMPARE_WHOLE;
	if (pattern)
		is_not = pattern_take(p, &from, &len, c);
	if (c->comparison == ABI_COMPARE_GLOB) {
		p->at = end + 1;
		return is_not;
	}
	if (len >= ABI_PATTERN || p->used + len > ABI_CONDITION_TEXT) {
		parser_fail(p, -EOPNOTSUPP, "the text is too long");
		return false;
	}
	c->text = (uint16_t)p->used;
	c->length = (uint16_t)len;
	memcpy(p->to->text + p->used, from, len);
	pattern_learn(from, (unsigned int)len, p->to->again + p->used);
	p->used += (unsigned int)len;
	p->at = end + 1;
	return is_not;
}

static const struct comparison *comparison_take(struct parser *p)
{
	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
		if (parser_takes(p, comparisons[i].text))
			return &comparisons[i];
	parser_fail(p, -EOPNOTSUPP, "no comparison that programs know");
	return NULL;
}

/* FIELD.ustring: the text in the program's memory to which the field points. */
static void field_take_user(struct parser *p, struct field *f)
{
	if (!f->is_address || f->size != 8) {
		parser_fail(p, -EOPNOTSUPP, "the field does not point to a text of the program");
		return;
	}
	f->operand = ABI_OPERAND_USER;
	f->is_text = true;
}

static void field_take(struct parser *p, struct field *f)
{
	char name[EVENT_FIELD_NAME], what[EVENT_FIELD_NAME + 64];
	size_t len = 0;

	parser_pass_blanks(p);
	while (isalnum((unsigned char)p->at[len]) || p->at[len] == '_')
		len++;
	snprintf(name, sizeof(name), "%.*s", (int)len, p->at);
	if (!len || len >= sizeof(name) || !field_find(p->format, name, f) ||
	    (p->call && (f->operand == ABI_OPERAND_DATA || f->operand == ABI_OPERAND_REL))) {
		snprintf(what, sizeof(what), "programs cannot read \"%s\"", name);
		parser_fail(p, -EOPNOTSUPP, what);
		return;
	}
	p->at += len;
	if (parser_takes(p, ".ustring"))
		field_take_user(p, f);
	else
		f->is_function = parser_takes(p, ".function");
}

static struct abi_condition *condition_new(struct parser *p, const struct field *f,
					   enum abi_comparison comparison)
{
	struct abi_condition *c = &p->to->condition[p->to->n % ABI_CONDITIONS];

	if (p->to->n >= ABI_CONDITIONS) {
		parser_fail(p, -EOPNOTSUPP, "it has too many conditions");
		return NULL;
	}
	p->to->n++;
	*c = (struct abi_condition){
		.operand = (uint8_t)f->operand, .offset = (uint16_t)f->offset,
		.size = (uint16_t)f->size, .is_signed = f->is_signed,
		.comparison = (uint8_t)comparison,
	};
	return c;
}

static unsigned int condition_node(struct parser *p, const struct abi_condition *c)
{
	return node_new(p, NODE_CONDITION, (unsigned int)(c - p->to->condition), 0);
}

static unsigned int number_node(struct parser *p, const struct field *f,
				enum abi_comparison comparison, uint64_t value)
{
	struct abi_condition *c = condition_new(p, f, comparison);

	if (!c)
		return 0;
	c->value = value;
	return condition_node(p, c);
}

/* A CPU, or a range of them, above those before: `least` is the next one then. */
static unsigned int cpus_range_parse(struct parser *p, const struct field *f, unsigned long *least)
{
	char *end;
	unsigned long first = strtoul(p->at, &end, 10), last = first;
	unsigned int low;

	if (*end == '-')
		last = strtoul(end + 1, &end, 10);
	if (!isdigit((unsigned char)*p->at) || first < *least || last < first ||
	    last >= UINT32_MAX || !*end || !strchr(",}", *end)) {
		parser_fail(p, -EOPNOTSUPP, "programs know ascending lists of CPUs, as {0-3,8}");
		return 0;
	}
	p->at = end;
	*least = last + 1;
	if (first == last)
		return number_node(p, f, ABI_COMPARE_EQ, first);
	if (!first)
		return number_node(p, f, ABI_COMPARE_LE, last);
	low = number_node(p, f, ABI_COMPARE_GE, first);
	return node_new(p, NODE_AND, low, number_node(p, f, ABI_COMPARE_LE, last));
}

/* FIELD & CPUS{0-3,8}: a part of the expression, with a condition or two for each range. */
static unsigned int cpus_parse(struct parser *p, struct field *f, const struct comparison *compare)
{
	const unsigned int conditions = p->to->n;
	unsigned long least = 0;
	unsigned int node;
	bool several;

	if (f->is_text)
		parser_fail(p, -EOPNOTSUPP, "CPUs cannot be compared there");
	if (p->err)
		return 0;
	f->is_signed = false;		/* the kernel takes them so … */
	node = cpus_range_parse(p, f, &least);
	while (!p->err && parser_takes(p, ","))
		node = node_new(p, NODE_OR, node, cpus_range_parse(p, f, &least));
	if (p->err)
		return 0;
	(void)parser_takes(p, "}");	/* a range ends before "," or this */
	several = p->to->n - conditions > 1 ||
		  p->to->condition[conditions].comparison != ABI_COMPARE_EQ;
	if (several && compare->number != ABI_COMPARE_BITS)
		parser_fail(p, -EOPNOTSUPP, "several CPUs are compared by \"&\"");
	/* … and looks for the low 32 bits in a list of several. */
	for (unsigned int i = conditions; several && i < p->to->n; i++)
		if (p->to->condition[i].size > sizeof(uint32_t))
			p->to->condition[i].size = sizeof(uint32_t);
	return compare->is_not ? node_new(p, NODE_NOT, node, 0) : node;
}

/* FIELD.function == NAME: the field is one of the function's addresses. */
static unsigned int function_parse(struct parser *p, struct field *f,
				   const struct comparison *compare)
{
	char text[ABI_SYMBOL_TEXT];
	struct kernel_symbol function;
	unsigned int low, both;
	size_t len = 0;
	bool number;

	parser_pass_blanks(p);
	/* Of a name the kernel takes all up to a blank, brackets too. */
	number = isdigit((unsigned char)*p->at);
	while (p->at[len] && !isspace((unsigned char)p->at[len]) &&
	       (!number || isalnum((unsigned char)p->at[len])))
		len++;
	snprintf(text, sizeof(text), "%.*s", (int)len, p->at);
	if (f->is_text || f->size != sizeof(uint64_t) || compare->number != ABI_COMPARE_EQ)
		parser_fail(p, -EOPNOTSUPP, "an address is compared with a function, by == or !=");
	else if (len >= sizeof(text) || kernel_symbols_function(p->e, text, &function))
		parser_fail(p, -EOPNOTSUPP, "the kernel does not report where that function is");
	if (p->err)
		return 0;
	p->at += len;
	f->is_signed = false;
	low = number_node(p, f, ABI_COMPARE_GE, function.start);
	both = node_new(p, NODE_AND, low,
			number_node(p, f, ABI_COMPARE_LT, function.start + function.size));
	return compare->is_not ? node_new(p, NODE_NOT, both, 0) : both;
}

static unsigned int condition_parse(struct parser *p)
{
	const struct comparison *compare;
	struct abi_condition *c;
	bool is_not;
	struct field f;

	if (!p->err)
		field_take(p, &f);
	compare = p->err ? NULL : comparison_take(p);
	if (compare && f.is_function)
		return function_parse(p, &f, compare);
	if (compare && parser_takes(p, "CPUS{"))
		return cpus_parse(p, &f, compare);
	c = compare ? condition_new(p, &f, compare->number) : NULL;
	if (!c)
		return 0;
	is_not = compare->is_not;
	parser_pass_blanks(p);
	if (compare->of_text && (*p->at == '"' || *p->at == '\''))
		is_not ^= condition_take_text(p, &f, compare->number == ABI_COMPARE_WHOLE, c);
	else if (compare->number != ABI_COMPARE_WHOLE)
		condition_take_number(p, &f, c);
	else
		parser_fail(p, -EINVAL, "a pattern has quotes");
	if (f.operand == ABI_OPERAND_USER) {
		c->is_not = is_not;
		is_not = false;
	}
	return is_not ? node_new(p, NODE_NOT, condition_node(p, c), 0) : condition_node(p, c);
}

/* --- expressions ------------------------------------------------------------------------------ */

static unsigned int any_parse(struct parser *p, unsigned int depth);

static unsigned int part_parse(struct parser *p, unsigned int depth)
{
	unsigned int node;

	if (depth > ABI_CONDITIONS)
		parser_fail(p, -EOPNOTSUPP, "it has too many parentheses");
	if (p->err)
		return 0;
	if (parser_takes(p, "!"))
		return node_new(p, NODE_NOT, part_parse(p, depth + 1), 0);
	if (!parser_takes(p, "("))
		return condition_parse(p);
	node = any_parse(p, depth + 1);
	if (!parser_takes(p, ")"))
		parser_fail(p, -EINVAL, "\")\" is missing");
	return node;
}

static unsigned int all_parse(struct parser *p, unsigned int depth)
{
	unsigned int node = part_parse(p, depth);

	while (!p->err && parser_takes(p, "&&"))
		node = node_new(p, NODE_AND, node, part_parse(p, depth));
	return node;
}

static unsigned int any_parse(struct parser *p, unsigned int depth)
{
	unsigned int node = all_parse(p, depth);

	while (!p->err && parser_takes(p, "||"))
		node = node_new(p, NODE_OR, node, all_parse(p, depth));
	return node;
}

/* Sets where each condition of a part goes on; the part's first one is `at`. */
static void part_link(struct parser *p, unsigned int part, unsigned int at, unsigned int yes,
		      unsigned int no)
{
	const struct node *n = &p->node[part];
	unsigned int behind;

	switch (n->kind) {
	case NODE_CONDITION:
		p->to->condition[n->left].yes = (uint8_t)yes;
		p->to->condition[n->left].no = (uint8_t)no;
		return;
	case NODE_NOT:
		part_link(p, n->left, at, no, yes);
		return;
	default:
		behind = at + p->node[n->left].conditions;
		part_link(p, n->left, at, n->kind == NODE_AND ? behind : yes,
			  n->kind == NODE_AND ? no : behind);
		part_link(p, n->right, behind, yes, no);
	}
}

int hit_filter_compile(const struct engine *e, const char *format, bool call, const char *filter,
		       struct abi_filter *to, struct reason *why)
{
	struct parser p = {
		.e = e, .format = format, .call = call, .text = filter, .at = filter, .to = to,
		.why = why,
	};
	unsigned int whole;

	memset(to, 0, sizeof(*to));
	whole = any_parse(&p, 0);
	parser_pass_blanks(&p);
	if (!p.err && *p.at)
		parser_fail(&p, -EINVAL, "\"&&\" or \"||\" is missing");
	if (!p.err)
		part_link(&p, whole, 0, ABI_FILTER_HIT, ABI_FILTER_NO_HIT);
	return p.err;
}

int hit_filter_check_call(const char *format, const char *filter, struct reason *why)
{
	struct reason unused;
	struct parser p = {
		.format = format, .call = true, .text = filter, .at = filter, .why = &unused,
		.to = calloc(1, sizeof(*p.to)),
	};

	if (!p.to)
		return -ENOMEM;
	(void)any_parse(&p, 0);
	free(p.to);
	return p.pointer ? deny(why, p.err, "%s", unused.text) : 0;
}
