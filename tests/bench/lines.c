/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ten thousand addresses of a large program, resolved to functions, inlined functions and lines.
 * pmcstat reads them as samples of a log; addr2line, which FreeBSD's pmcstat runs, from a pipe.
 */
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define ADDRESSES 10000u
#define RUNS	  3
#define PID	  1000u
#define BASE	  0x550000000000u

/* The largest part of the file that is code. */
static GElf_Phdr code_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	GElf_Phdr p, code = { 0 };
	size_t n = 0;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && (p.p_flags & PF_X) &&
		    p.p_filesz > code.p_filesz)
			code = p;
	elf_end(elf);
	close(fd);
	if (!code.p_filesz)
		die("%s has no code", path);
	return code;
}

/* The same addresses as samples and as text. */
static void put_addresses(const char *program, const char *log, const char *text)
{
	const GElf_Phdr code = code_of(program);
	FILE *samples = made_begin(log), *list = fopen(text, "we");

	if (!list)
		die("%s cannot be written", text);
	made_process(samples, PID);
	made_mapping(samples, PID, BASE, program);
	for (unsigned int i = 0; i < ADDRESSES; i++) {
		const uint64_t at = made_random(i) % code.p_filesz, pc = BASE + code.p_offset + at;

		made_sample(samples, i, PID, PID, &pc, 1);
		fprintf(list, "%#lx\n", code.p_vaddr + at);
	}
	made_end(samples, ADDRESSES);
	if (fclose(list))
		die("%s cannot be written", text);
}

/* A fast tool must also find names.  A line of -a ends in its file and line, "??:0" if unknown. */
static void check_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned int known = 0;
	char line[4096];

	while (f && fgets(line, sizeof(line), f))
		known += strcmp(line, "--\n") && !strstr(line, " ??:0\n");
	if (f)
		fclose(f);
	if (known < ADDRESSES * 9 / 10)
		die("%u of %u addresses have lines", known, ADDRESSES);
}

static void compare(const struct bench *b, char *program, char *log, char *text, char *out)
{
	char pmcstat[256], pipe[1024];
	char *ours[] = { pmcstat, "-q", "-R", log, "-a", out, NULL };
	char *theirs[] = { "sh", "-c", pipe, NULL };
	struct series s = { 0 }, t = { 0 }, mb = { 0 }, mbt = { 0 };

	path_beside(pmcstat, sizeof(pmcstat), "../bin/pmcstat");
	snprintf(pipe, sizeof(pipe), "cat '%s' | addr2line -Cfie '%s' | cat", text, program);
	for (int i = 0; i < RUNS; i++) {
		struct used o = run(b, ours, NULL), a = run(b, theirs, NULL);

		add(&s, o.seconds * 1e6 / ADDRESSES);
		add(&t, a.seconds * 1e6 / ADDRESSES);
		add(&mb, o.mb);
		add(&mbt, a.mb);
	}
	check_lines(out);
	report(&(struct figure){ "line of an address, 1 GB of debug information", "us", &s,
				 "addr2line", &t, JUDGE_RATIO, 0.1 });
	report(&(struct figure){ "lines, resident", "MB", &mb, "addr2line", &mbt, JUDGE_NOT, 0 });
}

void bench_lines(const struct bench *b)
{
	static const char *const needs[] = { "./large", "../bin/pmcstat", "addr2line", NULL };
	char program[256], log[sizeof(b->dir) + 16];
	char text[sizeof(b->dir) + 16], out[sizeof(b->dir) + 16];

	if (lacks("report: lines of addresses", needs))
		return;
	path_beside(program, sizeof(program), "large");
	snprintf(log, sizeof(log), "%s/log", b->dir);
	snprintf(text, sizeof(text), "%s/addresses", b->dir);
	snprintf(out, sizeof(out), "%s/lines", b->dir);
	put_addresses(program, log, text);
	compare(b, program, log, text, out);
	unlink(log);
	unlink(text);
	unlink(out);
}
