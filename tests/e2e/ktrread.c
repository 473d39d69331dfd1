/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads trace rings as an application does: takes orders from the command line, one after another,
 * and prints its findings.  It checks invariants: numbers without gaps, times that do not go back,
 * and tags.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pmc.h>
#include <sys/ktr_class.h>
#include <sys/ktr_region.h>

#define WORDS 5
#define PATIENCE 60000		/* ms that a CPU may stand still */

struct rings {
	const struct ktr_region *r;
	size_t size;
};

static int fail(const char *what)
{
	printf("%s: %s: %s\n", what, strerror(errno), pmc_errstr());
	return 1;
}

static bool map(struct rings *rs, int fd)
{
	const struct ktr_region *r = mmap(NULL, KTR_REGION_PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (r == MAP_FAILED)
		return false;
	rs->size = r->hdrsize + r->ncpu * r->stride;
	munmap((void *)r, KTR_REGION_PAGE);
	rs->r = mmap(NULL, rs->size, PROT_READ, MAP_SHARED, fd, 0);
	return rs->r != MAP_FAILED;
}

static const struct ktr_ring *ring_of(const struct ktr_region *r, unsigned int cpu)
{
	return (const void *)((const char *)r + r->hdrsize + cpu * r->stride);
}

static const struct ktr_format *format_of(const struct ktr_region *r, uint64_t desc)
{
	const struct ktr_format *f = (const void *)((const char *)r + r->formats_offset);

	if (desc >> 48 != KTR_DESC_TAG || KTR_DESC_ID(desc) >= r->formats ||
	    KTR_DESC_GENERATION(desc) != (r->generation & 0xffff))
		return NULL;
	f += KTR_DESC_ID(desc);
	return f->magic == KTR_FORMAT_MAGIC && f->id == KTR_DESC_ID(desc) ? f : NULL;
}

static uint64_t narrow(uint64_t word, uint32_t type)
{
	return type == KTR_ARG_S32 || type == KTR_ARG_U32 ? (uint32_t)word : word;
}

/* %s, %x, %d, and %08x of addresses. */
static void print_text(const struct ktr_format *f, const struct ktr_entry *e)
{
	unsigned int word = 0, parameter = 0;
	uint64_t words[WORDS];

	memcpy(words, &e->ktr_parm1, sizeof(words));
	for (const char *p = f->text; *p; p++) {
		uint32_t type = KTR_ARGTYPE(f->argtypes, parameter);

		if (*p != '%' || word >= WORDS) {
			putchar(*p);
			continue;
		}
		p += strspn(p + 1, "0123456789") + 1;
		parameter++;
		if (*p == 's') {
			printf("%.16s", (const char *)&words[word]);
			word += 2;
		} else if (*p == 'd' && type == KTR_ARG_S32) {
			printf("%d", (int)words[word++]);
		} else if (*p == 'd') {
			printf("%" PRId64, (int64_t)narrow(words[word++], type));
		} else {
			printf("%" PRIx64, narrow(words[word++], type));
		}
	}
}

/*
 * A writer that has a number may not have written its entry yet; a hypervisor may have stopped its
 * CPU.
 */
static struct ktr_entry entry_of(const struct ktr_entry *slot, uint32_t seq)
{
	for (int ms = 0; ms < PATIENCE; ms++) {
		if ((int32_t)(__atomic_load_n(&slot->ktr_seq, __ATOMIC_ACQUIRE) - seq) >= 0)
			break;
		usleep(1000);
	}
	return *slot;
}

/*
 * Prints a ring, oldest first: "CPU NUMBER TIME TID NAME CLASSES TEXT".  False: it violates a rule.
 */
static bool print_ring(const struct ktr_region *r, unsigned int cpu)
{
	const struct ktr_ring *ring = ring_of(r, cpu);
	const struct ktr_entry *entries = (const void *)(ring + 1);
	uint64_t head = ring->head, before = 0;

	if (ring->cpu != cpu)
		return false;
	for (uint64_t n = head > r->entries ? head - r->entries : 0; n < head; n++) {
		const struct ktr_entry *slot = &entries[n & (r->entries - 1)];
		const struct ktr_format *f;
		struct ktr_entry e;

		/* The fields that a copy omits. */
		if (r->flags & KTR_REGION_SCRUBBED && !slot->ktr_seq)
			continue;
		e = entry_of(slot, (uint32_t)(n + 1));
		f = format_of(r, e.ktr_desc);
		if (e.ktr_seq != (uint32_t)(n + 1) || !f || KTR_DESC_CPU(e.ktr_desc) != cpu ||
		    e.ktr_time < before) {
			printf("torn: cpu %u entry %" PRIu64 " seq %u desc %" PRIx64 " time %"
			       PRIu64 " after %" PRIu64 "\n", cpu, n, e.ktr_seq, e.ktr_desc,
			       e.ktr_time, before);
			return false;
		}
		before = e.ktr_time;
		printf("%u %" PRIu64 " %" PRIu64 " %u %s %x ", cpu, n, e.ktr_time, e.ktr_tid,
		       *f->name ? f->name : "-", f->classes);
		print_text(f, &e);
		putchar('\n');
	}
	return true;
}

static int print_rings(const struct rings *rs)
{
	for (unsigned int cpu = 0; cpu < rs->r->ncpu; cpu++)
		if (!print_ring(rs->r, cpu))
			return 1;
	return 0;
}

static int print_header(const struct rings *rs)
{
	const struct ktr_region *r = rs->r;

	if (memcmp(r->magic, KTR_REGION_MAGIC, sizeof(r->magic)))
		return 1;
	printf("version %u entries %u ncpu %u flags %x clock %u compile %x cpumask %" PRIx64
	       " pid %u comm %s\n", r->version, r->entries, r->ncpu, r->flags, r->clock, r->compile,
	       r->cpumask[0], r->pid, r->comm);
	for (unsigned int cpu = 0; cpu < r->ncpu; cpu++)
		printf("ring %u head %" PRIu64 " lost %" PRIu64 "\n", cpu, ring_of(r, cpu)->head,
		       ring_of(r, cpu)->lost);
	return 0;
}

/* Every byte, unchanged. */
static int dump(const struct rings *rs)
{
	return fwrite(rs->r, 1, rs->size, stdout) != rs->size;
}

static int read_rings(int (*how)(const struct rings *rs))
{
	struct rings rs;
	int fd = pmc_ktr_open(), status;

	if (fd < 0)
		return fail("open");
	if (!map(&rs, fd))
		return fail("map");
	close(fd);
	status = how(&rs);
	munmap((void *)rs.r, rs.size);
	return status;
}

/* A reader must not be able to write. */
static int try_write(void)
{
	int fd = pmc_ktr_open();
	void *at;

	if (fd < 0)
		return fail("open");
	at = mmap(NULL, KTR_REGION_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	printf("write %s\n", at == MAP_FAILED ? strerror(errno) : "allowed");
	at = mmap(NULL, KTR_REGION_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return fail("map");
	printf("mprotect %s\n", mprotect(at, KTR_REGION_PAGE, PROT_READ | PROT_WRITE) ?
	       strerror(errno) : "allowed");
	close(fd);
	return 0;
}

static int print_info(void)
{
	struct pmc_ktr k;

	if (pmc_ktr_info(&k))
		return fail("info");
	printf("compile %x missing %x mask %x saved %x frozen %u entries %u ncpu %u "
	       "written %" PRIu64 " stopped \"%s\"\n", k.pk_compile, k.pk_missing, k.pk_mask,
	       k.pk_saved, k.pk_frozen, k.pk_entries, k.pk_ncpu, k.pk_written, k.pk_stopped);
	return 0;
}

static int control(enum pmc_ktr_op op, const char *text, const char *what)
{
	return pmc_ktr_control(op, text) ? fail(what) : 0;
}

/* After running on each CPU: any writer that saw tracing on has finished. */
static void visit_cpus(void)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (CPU_ISSET(cpu, &all))
			sched_setaffinity(0, sizeof(one), &one);
	}
	sched_setaffinity(0, sizeof(all), &all);
}

static int freeze(void)
{
	int status = control(PMC_KTR_FREEZE, NULL, "freeze");

	visit_cpus();
	return status;
}

static int set(char *what)
{
	char *value = strchr(what, '=');

	*value++ = '\0';
	return pmc_tunable_set(what, value) ? fail(what) : 0;
}

static int obey(char *order)
{
	if (!strcmp(order, "info"))
		return print_info();
	if (!strcmp(order, "header"))
		return read_rings(print_header);
	if (!strcmp(order, "read"))
		return read_rings(print_rings);
	if (!strcmp(order, "dump"))
		return read_rings(dump);
	if (!strcmp(order, "write"))
		return try_write();
	if (!strcmp(order, "freeze"))
		return freeze();
	if (!strcmp(order, "thaw"))
		return control(PMC_KTR_THAW, NULL, order);
	if (!strcmp(order, "clear"))
		return control(PMC_KTR_CLEAR, NULL, order);
	if (!strncmp(order, "mark=", 5))
		return control(PMC_KTR_MARK, order + 5, "mark");
	if (strchr(order, '='))
		return set(order);
	printf("%s: not an order\n", order);
	return 2;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (pmc_init())
		return fail("init");
	for (int i = 1; i < argc && !status; i++)
		status = obey(argv[i]);
	return fflush(stdout) ? 1 : status;
}
