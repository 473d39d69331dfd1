/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages: valid ones, valid ones with one defect, and noise. */
#include <string.h>
#include <unistd.h>

#include "stranger.h"

static const uint16_t ops[] = {
	WIRE_OP_CONFIGURELOG, WIRE_OP_FLUSHLOG, WIRE_OP_GETCPUINFO, WIRE_OP_GETDRIVERSTATS,
	WIRE_OP_GETMODULEVERSION, WIRE_OP_GETPMCINFO, WIRE_OP_PMCADMIN, WIRE_OP_PMCALLOCATE,
	WIRE_OP_PMCATTACH, WIRE_OP_PMCDETACH, WIRE_OP_PMCGETMSR, WIRE_OP_PMCRELEASE, WIRE_OP_PMCRW,
	WIRE_OP_PMCSETCOUNT, WIRE_OP_PMCSTART, WIRE_OP_PMCSTOP, WIRE_OP_WRITELOG, WIRE_OP_CLOSELOG,
	WIRE_OP_GETDYNEVENTINFO, WIRE_OP_HELLO, WIRE_OP_TUNABLE, WIRE_OP_POLICY, WIRE_OP_GATES,
	WIRE_OP_KTR,
	WIRE_OP_GETLOSSES, WIRE_OP_ATTACHEXEC, WIRE_OP_SIGNALS, WIRE_OP_OVERFLOWS,
	/* Valid operations are chosen more often. */
	WIRE_OP_PMCALLOCATE, WIRE_OP_PMCALLOCATE, WIRE_OP_PMCALLOCATE, WIRE_OP_PMCATTACH,
	WIRE_OP_PMCATTACH, WIRE_OP_PMCATTACH, WIRE_OP_PMCSTART, WIRE_OP_PMCSTART, WIRE_OP_PMCRW,
	WIRE_OP_PMCRELEASE, WIRE_OP_PMCRELEASE, WIRE_OP_WRITELOG, WIRE_OP_CONFIGURELOG,
};

/* Boundary values. */
static uint64_t edge(struct stranger *s)
{
	static const uint64_t edges[] = {
		0, 1, 2, 3, 15, 16, 63, 64, 0xff, 0x100, 0x3ff, 0x400, 0xffff, 0x10000, 0x7fffffff,
		0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff,
	};

	return chance(s, 70) ? edges[pick(s, sizeof(edges) / sizeof(edges[0]))] :
			       (uint64_t)pick(s, UINT32_MAX) << 32 | pick(s, UINT32_MAX);
}

static uint32_t some_id(struct stranger *s)
{
	return chance(s, 92) ? s->id[pick(s, IDS)] : (uint32_t)edge(s);
}

static void fill_text(struct stranger *s, char *text, size_t size)
{
	static const char *const names[] = {
		"MSR-TSC", "MSR-APERF", "MSR-0x611", "kern.hwpmc.nbuffers", "user.share",
		"security.bsd.unprivileged_syspmcs", "", "%s%s%s%n", "../../etc/passwd",
		"\x1b[2J\n",
	};
	const char *name = names[pick(s, sizeof(names) / sizeof(names[0]))];

	memset(text, 0, size);
	if (chance(s, 85)) {
		for (size_t i = 0; i < size && name[i]; i++)
			text[i] = name[i];
		return;
	}
	for (size_t i = 0; i < size; i++)
		text[i] = (char)pick(s, 256);
}

/* Mostly counting PMCs: a sampling PMC takes a hundred times as long to make. */
static uint32_t some_mode(struct stranger *s)
{
	uint32_t n = pick(s, 100);

	return n < 4 ? PMC_MODE_TS : n < 7 ? PMC_MODE_SS : n < 17 ? PMC_MODE_SC : PMC_MODE_TC;
}

static size_t fill_allocate(struct stranger *s, void *arg)
{
	static const uint32_t classes[] = { PMC_CLASS_SOFT, PMC_CLASS_SOFT, PMC_CLASS_SOFT,
					    PMC_CLASS_TSC, PMC_CLASS_MSR, PMC_CLASS_IAP };
	static const uint32_t flags[] = { 0, 0, PMC_F_DESCENDANTS, PMC_F_LOG_PROCEXIT,
					  PMC_F_LOG_PROCCSW, PMC_F_CALLCHAIN,
					  PMC_F_DESCENDANTS | PMC_F_LOG_PROCEXIT,
					  PMC_F_CALLCHAIN | PMC_F_USERCALLCHAIN };
	struct wire_allocate_req r = {
		.mode = some_mode(s), .class = classes[pick(s, 6)], .flags = flags[pick(s, 8)],
		.caps = chance(s, 90) ? PMC_CAP_READ : pick(s, 1u << 14),
		.count = chance(s, 80) ? 1000003 : edge(s),
	};

	r.event = r.class == PMC_CLASS_TSC ? (uint32_t)PMC_EV_TSC_TSC :
		  r.class == PMC_CLASS_MSR ? PMC_EV_MSR_FIRST + pick(s, 0x101) :
					     PMC_EV_SOFT_FIRST + pick(s, 19);
	r.cpu = PMC_IS_SYSTEM_MODE(r.mode) ? pick(s, stage->ncpu + 1) : (uint32_t)PMC_CPU_ANY;
	if (r.class != PMC_CLASS_SOFT)
		fill_text(s, r.event_name, sizeof(r.event_name));
	if (chance(s, 10)) {
		r.config = edge(s);
		r.config1 = edge(s);
		r.config2 = edge(s);
	}
	memcpy(arg, &r, sizeof(r));
	return sizeof(r);
}

static size_t fill_hello(struct stranger *s, void *arg)
{
	struct wire_hello_req r = { .pid = (uint32_t)getpid() };

	fill_text(s, r.program, sizeof(r.program));
	memcpy(arg, &r, sizeof(r));
	return sizeof(r);
}

static size_t fill_tunable(struct stranger *s, void *arg)
{
	struct wire_tunable_req r = { .what = pick(s, 4) };

	if (r.what)
		fill_text(s, r.name, sizeof(r.name));
	if (r.what == WIRE_TUNABLE_SET)
		fill_text(s, r.value, sizeof(r.value));
	memcpy(arg, &r, sizeof(r));
	return sizeof(r);
}

static size_t fill_ktr(struct stranger *s, void *arg)
{
	struct wire_ktr_req r = { .what = pick(s, 7) };

	if (r.what == WIRE_KTR_MARK)
		fill_text(s, r.text, sizeof(r.text));
	memcpy(arg, &r, sizeof(r));
	return sizeof(r);
}

#define PUT(type, ...) do {				\
		struct type r = { __VA_ARGS__ };	\
		memcpy(arg, &r, sizeof(r));		\
		return sizeof(r);			\
	} while (0)

/* The size of the operation's argument. */
static size_t fill(struct stranger *s, uint16_t op, void *arg)
{
	static const uint32_t rw[] = { PMC_F_OLDVALUE, PMC_F_NEWVALUE,
				       PMC_F_OLDVALUE | PMC_F_NEWVALUE, 0 };

	switch (op) {
	case WIRE_OP_HELLO:
		return fill_hello(s, arg);
	case WIRE_OP_PMCALLOCATE:
		return fill_allocate(s, arg);
	case WIRE_OP_TUNABLE:
		return fill_tunable(s, arg);
	case WIRE_OP_KTR:
		return fill_ktr(s, arg);
	case WIRE_OP_CONFIGURELOG:
		PUT(wire_configurelog_req, .logfd = chance(s, 70) ? 3 : -1);
	case WIRE_OP_WRITELOG:
		PUT(wire_writelog_req, .userdata = pick(s, UINT32_MAX));
	case WIRE_OP_GETMODULEVERSION:
		PUT(wire_version, .version = PMC_VERSION);
	case WIRE_OP_GETPMCINFO:
		PUT(wire_cpu_req, .cpu = pick(s, stage->ncpu + 1));
	case WIRE_OP_GETDYNEVENTINFO:
		PUT(wire_class_req, .class = chance(s, 80) ? PMC_CLASS_SOFT : pick(s, 256));
	case WIRE_OP_PMCADMIN:
		PUT(wire_admin_req, .cpu = (int32_t)pick(s, 4), .pmc = (int32_t)pick(s, 20),
		    .state = pick(s, 2));
	case WIRE_OP_PMCATTACH:
	case WIRE_OP_PMCDETACH:
		PUT(wire_attach_req, .pmcid = some_id(s),
		    .pid = chance(s, 30) ? 0 : (int32_t)(1 + pick(s, 40000)));
	case WIRE_OP_PMCRW:
		PUT(wire_rw_req, .pmcid = some_id(s), .flags = rw[pick(s, 4)], .value = edge(s));
	case WIRE_OP_PMCSETCOUNT:
		PUT(wire_setcount_req, .pmcid = some_id(s), .count = edge(s));
	case WIRE_OP_OVERFLOWS:
		PUT(wire_overflows_req, .pmcid = some_id(s), .set = pick(s, 3),
		    .signal = pick(s, 70), .n = (uint32_t)edge(s));
	case WIRE_OP_PMCGETMSR:
		PUT(wire_getmsr_req, .pmcid = some_id(s), .missing = pick(s, 40));
	case WIRE_OP_PMCRELEASE:
	case WIRE_OP_PMCSTART:
	case WIRE_OP_PMCSTOP:
		PUT(wire_id_req, .pmcid = some_id(s));
	default:
		return 0;
	}
}

/* One field or another becomes something else. */
static void spoil_argument(struct stranger *s, uint8_t *arg, size_t len)
{
	for (unsigned int n = 1 + pick(s, 3); len >= 4 && n; n--) {
		uint32_t value = (uint32_t)edge(s);

		memcpy(arg + pick(s, (uint32_t)len / 4) * 4, &value, sizeof(value));
	}
}

static void spoil_header(struct stranger *s, struct wire_hdr *h)
{
	switch (pick(s, 7)) {
	case 0:
		h->magic = (uint32_t)edge(s);
		break;
	case 1:
		h->version = (uint16_t)edge(s);
		break;
	case 2:
		h->op = (uint16_t)edge(s);
		break;
	case 3:
		h->error = (int32_t)edge(s);
		break;
	case 4:
		h->reason_len = (uint32_t)edge(s);
		break;
	default:
		h->len = (uint32_t)edge(s);
	}
}

static void make_noise(struct stranger *s, struct frame *f)
{
	f->len = pick(s, chance(s, 90) ? 64 : FRAME);
	for (size_t i = 0; i < f->len; i++)
		f->bytes[i] = (uint8_t)pick(s, 256);
}

void message_make(struct stranger *s, struct frame *f)
{
	uint8_t *arg = f->bytes + sizeof(struct wire_hdr);
	struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .seq = ++s->seq };
	size_t len;

	f->op = chance(s, 97) ? ops[pick(s, sizeof(ops) / sizeof(ops[0]))] : (uint16_t)pick(s, 70);
	f->takes_fd = f->op == WIRE_OP_CONFIGURELOG || f->op == WIRE_OP_PMCATTACH ||
		      f->op == WIRE_OP_PMCDETACH;
	memset(f->bytes, 0, sizeof(h) + sizeof(struct wire_tunable_req));
	len = fill(s, f->op, arg);
	if (chance(s, 20))
		spoil_argument(s, arg, len);
	/* Longer or shorter than it should be. */
	if (chance(s, 2))
		len = pick(s, (uint32_t)(chance(s, 80) ? sizeof(struct wire_tunable_req) :
							 FRAME - sizeof(h)));
	h.op = f->op;
	h.len = (uint32_t)len;
	/* After these the daemon closes the connection. */
	if (pick(s, 300) == 0)
		spoil_header(s, &h);
	memcpy(f->bytes, &h, sizeof(h));
	f->len = sizeof(h) + len;
	if (pick(s, 600) == 0)
		make_noise(s, f);
}
