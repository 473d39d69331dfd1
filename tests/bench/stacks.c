/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log with any number of samples of programs that never ran: their stacks are walks through a
 * synthetic call graph of real functions in this machine's files.  There are many stacks, most
 * share their outer frames, and their frequencies vary widely.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define STACKS	  20000u
#define PROCESSES 8u
#define THREADS	  4u
#define DEPTH_MIN 6u
#define DEPTH_MAX 26u
#define FIRST_PID 1000u

struct function {
	uint64_t offset, size;		/* in the file; of the kernel's: address */
	unsigned int image;
};
struct image {
	const char *path;
	unsigned int first, n;		/* its functions */
};
struct graph {
	struct function *functions;
	unsigned int n, size;
	struct image images[16];	/* the last one is the kernel */
	unsigned int nimages;
	uint64_t random;
};

static const char *const files[] = {
	"/usr/bin/python3", "/usr/lib/x86_64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/aarch64-linux-gnu/libc.so.6",
	"/usr/lib/aarch64-linux-gnu/libstdc++.so.6", "/usr/lib/aarch64-linux-gnu/libcrypto.so.3",
	"/usr/lib/aarch64-linux-gnu/libLLVM-14.so.1",
};

static unsigned int dice(struct graph *g, unsigned int sides)
{
	return (unsigned int)(made_random(++g->random) % sides);
}

/* --- functions ------------------------------------------------------------------------------- */

static void add_function(struct graph *g, uint64_t offset, uint64_t size)
{
	if (g->n == g->size) {
		g->size = g->size ? 2 * g->size : 65536;
		g->functions = reallocarray(g->functions, g->size, sizeof(*g->functions));
		if (!g->functions)
			die("no memory");
	}
	g->functions[g->n++] = (struct function){ offset, size, g->nimages };
}

static void end_image(struct graph *g, const char *path, unsigned int first)
{
	if (g->n > first)
		g->images[g->nimages++] = (struct image){ path, first, g->n - first };
}

/* The offset in the file of an address in loaded code; 0: none. */
static uint64_t code_offset(Elf *elf, uint64_t address)
{
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && (p.p_flags & PF_X) &&
		    address - p.p_vaddr < p.p_filesz)
			return address - p.p_vaddr + p.p_offset;
	return 0;
}

static void add_file(struct graph *g, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	unsigned int first = g->n;
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	GElf_Sym sym;

	while (elf && (section = elf_nextscn(elf, section))) {
		Elf_Data *data = NULL;

		if (gelf_getshdr(section, &head) && head.sh_type == SHT_DYNSYM)
			data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			uint64_t offset = code_offset(elf, sym.st_value);

			if (GELF_ST_TYPE(sym.st_info) == STT_FUNC && offset && sym.st_size > 16)
				add_function(g, offset, sym.st_size);
		}
	}
	end_image(g, path, first);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}

static void add_kernel(struct graph *g)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned int first = g->n;
	uint64_t address, last = 0;
	char line[512], type;

	while (f && fgets(line, sizeof(line), f)) {
		if (strchr(line, '[') || sscanf(line, "%lx %c", &address, &type) != 2 ||
		    (type != 't' && type != 'T'))
			continue;
		if (last && address > last + 16 && address < last + 65536)
			add_function(g, last, address - last);
		last = address;
	}
	if (f)
		fclose(f);
	if (g->n == first)
		die("/proc/kallsyms shows no addresses");
	end_image(g, "[kernel.kallsyms]", first);
}

/* --- stacks ---------------------------------------------------------------------------------- */

static uint64_t base_of(const struct graph *g, unsigned int image)
{
	return image + 1 == g->nimages ? 0 : 0x7f0000000000u + image * 0x100000000u;
}

/*
 * The function that `function` calls: most often the first of four, in the same file unless it is
 * the last.
 */
static unsigned int callee(struct graph *g, unsigned int function, bool kernel)
{
	unsigned int d = dice(g, 100), choice = (d >= 80) + (d >= 92) + (d >= 97);
	uint64_t number = made_random(function * 4ull + choice + 1);
	const struct image *in = &g->images[g->functions[function].image];

	if (!kernel && choice == 3)
		in = &g->images[number / 7 % (g->nimages - 1)];
	return in->first + (unsigned int)(number % in->n);
}

/* Low numbers more often than high ones. */
static unsigned int skewed(struct graph *g, unsigned int sides)
{
	return dice(g, 1 + dice(g, 1 + dice(g, sides)));
}

/* Outermost first; `leaf` selects the instruction in the innermost function. */
static unsigned int walk(struct graph *g, uint64_t *frames, unsigned int at, unsigned int depth,
			 unsigned int leaf, bool kernel)
{
	for (unsigned int i = 0; i < depth; i++) {
		const struct function *f = &g->functions[at];
		unsigned int next = callee(g, at, kernel);
		uint64_t in = made_random(at ^ (uint64_t)(i + 1 < depth ? next : leaf) << 32);

		frames[i] = base_of(g, f->image) + f->offset + 1 + in % (f->size - 1);
		at = next;
	}
	return depth;
}

static void put_sample(struct graph *g, FILE *f, uint64_t number)
{
	const struct image *kernel = &g->images[g->nimages - 1];
	const unsigned int stack = skewed(g, STACKS), leaf = skewed(g, 16);
	const unsigned int thread = dice(g, THREADS);
	const uint64_t random = g->random;
	uint64_t frames[2 * DEPTH_MAX], chain[2 * DEPTH_MAX];
	unsigned int process, n;

	/* From here on the stack's number determines the frames. */
	g->random = (uint64_t)stack << 32;
	process = dice(g, PROCESSES);
	n = walk(g, frames, g->images[process % (g->nimages - 1)].first + process,
		 DEPTH_MIN + dice(g, DEPTH_MAX - DEPTH_MIN), leaf, false);
	if (dice(g, 10) < 3)
		n += walk(g, frames + n, kernel->first + dice(g, 8) * 64,
			  DEPTH_MIN + dice(g, DEPTH_MIN), leaf, true);
	g->random = random;
	for (unsigned int i = 0; i < n; i++)
		chain[i] = frames[n - 1 - i];
	made_sample(f, number, FIRST_PID + process, FIRST_PID + process + PROCESSES * thread, chain,
		    n);
}

static void put_processes(const struct graph *g, FILE *f)
{
	const struct function *kernel = &g->functions[g->images[g->nimages - 1].first];

	made_mapping(f, UINT32_MAX, kernel->offset & ~0xffffull, "[kernel.kallsyms]");
	for (uint32_t pid = FIRST_PID; pid < FIRST_PID + PROCESSES; pid++) {
		made_process(f, pid);
		for (unsigned int i = 0; i + 1 < g->nimages; i++)
			made_mapping(f, pid, base_of(g, i), g->images[i].path);
	}
}

void stacks_log(const char *path, uint64_t samples)
{
	struct graph g = { 0 };
	FILE *f;

	if (elf_version(EV_CURRENT) == EV_NONE)
		die("libelf: %s", elf_errmsg(-1));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		add_file(&g, files[i]);
	if (!g.nimages)
		die("there is no file with functions; looked for %s", files[1]);
	add_kernel(&g);
	f = made_begin(path);
	put_processes(&g, f);
	for (uint64_t i = 0; i < samples; i++)
		put_sample(&g, f, i);
	made_end(f, samples);
	free(g.functions);
}
