/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See address.h.  The files are the ones that the process has mapped, whatever their names lead to
 * by now.  Their symbol tables are others' data: libelf checks what it reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "address.h"
#include "lib/base/nearest.h"

#define PAGE_MASK 4095ull	/* offsets and addresses agree in these bits */

/* A file that is mapped, by its first mapping. */
struct mapped {
	uint64_t start, end, offset, inode;
	char path[PATH_MAX];
};

struct address_search {
	pid_t pid;
	const char *symbol;
	struct nearest near;
	struct address found;
	unsigned int n;			/* different addresses */
	bool thread;			/* it is a variable of each thread … */
	bool indirect;			/* … or a function that is chosen at the start */
	bool stripped;			/* the program has no full table */
	char program[PATH_MAX];
};

/* --- files ------------------------------------------------------------------------------------ */

/* A line of /proc/PID/maps.  False: it has no file. */
static bool mapped_parse(char *line, struct mapped *m)
{
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %*x:%*x %" SCNu64 " %n",
		   &m->start, &m->end, &m->offset, &m->inode, &at) != 4 || !at || line[at] != '/')
		return false;
	snprintf(m->path, sizeof(m->path), "%s", line + at);
	return true;
}

static int file_open_regular(const char *path, uint64_t inode)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!inode || st.st_ino == inode)))
		return fd;
	close(fd);
	return -1;
}

/* The kernel's own links lead to the file itself; not every caller may follow the second one. */
static int mapped_open(const struct address_search *s, const struct mapped *m)
{
	char path[PATH_MAX + 64];
	int fd;

	if (!strcmp(m->path, s->program)) {
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)s->pid);
		return file_open_regular(path, 0);
	}
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)s->pid,
		 m->start, m->end);
	fd = file_open_regular(path, 0);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)s->pid, m->path);
	return file_open_regular(path, m->inode);
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* The distance from the file's addresses to the process's.  False: this is not its beginning. */
static bool elf_bias(Elf *elf, const struct mapped *m, uint64_t *bias)
{
	size_t n = 0;
	GElf_Phdr h;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &h) || h.p_type != PT_LOAD)
			continue;
		*bias = m->start - (h.p_vaddr & ~PAGE_MASK);
		return m->offset == (h.p_offset & ~PAGE_MASK);
	}
	return false;
}

static void symbol_take(struct address_search *s, const GElf_Sym *sym, uint64_t bias)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);
	uint64_t value = sym->st_value + bias;

	s->thread |= type == STT_TLS;
	s->indirect |= type == STT_GNU_IFUNC;
	if (type == STT_TLS || type == STT_GNU_IFUNC || (s->n && s->found.value == value))
		return;
	s->n++;
	s->found = (struct address){ .value = value, .size = sym->st_size,
				     .code = type == STT_FUNC };
}

/* Symbols of any kind that have an address: the last of these is arm64's mark of code and data. */
static bool symbol_counts(const GElf_Sym *sym, const char *name)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS && name && *name &&
	       type != STT_SECTION && type != STT_FILE && *name != '$';
}

static void elf_search_table(struct address_search *s, Elf *elf, Elf_Scn *section,
			     const GElf_Shdr *h, uint64_t bias)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = data && h->sh_entsize ? h->sh_size / h->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; i < n && i < INT_MAX && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name = elf_strptr(elf, h->sh_link, sym.st_name);

		if (!symbol_counts(&sym, name))
			continue;
		if (!strcmp(name, s->symbol))
			symbol_take(s, &sym, bias);
		else
			nearest_offer(&s->near, name);
	}
}

/* The full table, or else that of the dynamic linker. */
static void elf_search(struct address_search *s, Elf *elf, const struct mapped *m)
{
	Elf_Scn *section = NULL, *best = NULL;
	GElf_Shdr h, best_h = { .sh_type = SHT_NULL };
	uint64_t bias;

	if (!elf_bias(elf, m, &bias))
		return;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &h) ||
		    (h.sh_type != SHT_SYMTAB && h.sh_type != SHT_DYNSYM))
			continue;
		if (best && best_h.sh_type == SHT_SYMTAB)
			continue;
		best = section;
		best_h = h;
	}
	if (!strcmp(m->path, s->program))
		s->stripped = best_h.sh_type != SHT_SYMTAB;
	if (best)
		elf_search_table(s, elf, best, &best_h, bias);
}

static void mapped_search(struct address_search *s, const struct mapped *m)
{
	int fd = mapped_open(s, m);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;

	if (elf && elf_kind(elf) == ELF_K_ELF)
		elf_search(s, elf, m);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}

/* --- the process ------------------------------------------------------------------------------ */

/* The program, or all other files. */
static int process_search(struct address_search *s, bool program)
{
	char path[64], *line = NULL;
	struct mapped m, last = { .path = "" };
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (getline(&line, &size, f) > 0) {
		if (!mapped_parse(line, &m) || !strcmp(m.path, last.path))
			continue;
		last = m;
		if (!strcmp(m.path, s->program) == program)
			mapped_search(s, &m);
	}
	free(line);
	fclose(f);
	return 0;
}

static int address_deny(struct address_search *s, char *why, size_t size)
{
	const char *symbol = s->symbol;

	if (s->n > 1)
		snprintf(why, size, "process %d has %u symbols \"%s\": write the address of one",
			 (int)s->pid, s->n, symbol);
	else if (s->thread)
		snprintf(why, size, "\"%s\" is a variable of each thread, without one address",
			 symbol);
	else if (s->indirect)
		snprintf(why, size, "\"%s\" is a function that is chosen at the start: write the "
			 "chosen one's name", symbol);
	else if (s->stripped)
		snprintf(why, size, "%.300s is stripped, so that \"%s\" is not to be found: write "
			 "its address", s->program, symbol);
	else
		snprintf(why, size, "%.300s has no symbol \"%s\"%s, and no other file that the "
			 "process has mapped so far", s->program, symbol,
			 nearest_hint(&s->near, ""));
	return -EINVAL;
}

int address_find(pid_t pid, const char *symbol, struct address *out, char *why, size_t size)
{
	struct address_search s = { .pid = pid, .symbol = symbol };
	char path[64];
	ssize_t n;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, s.program, sizeof(s.program) - 1);
	if (n < 0 || elf_version(EV_CURRENT) == EV_NONE) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		return -EINVAL;
	}
	nearest_begin(&s.near, symbol);
	err = process_search(&s, true);
	if (!err && !s.n && !s.thread && !s.indirect)
		err = process_search(&s, false);
	if (err) {
		snprintf(why, size, "/proc/%d/maps: %s", (int)pid, strerror(-err));
		return -EINVAL;
	}
	*out = s.found;
	return s.n == 1 ? 0 : address_deny(&s, why, size);
}
