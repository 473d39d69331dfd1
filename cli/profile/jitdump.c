/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions in a jitdump, the binary file of perf's that the Java and Node.js runtimes write: a
 * header, then records with their lengths, each of a function with its code.  Only names and
 * addresses are read.  Code that was moved has no name at its new place.
 */
#include <string.h>
#include <unistd.h>

#include "object.h"

#define DUMP_MAGIC   0x4A695444u	/* in the byte order of the machine */
#define DUMP_LOAD    0u
#define DUMP_NAME    4096u
#define DUMP_RECORDS (1u << 22)		/* in one reading */

struct dump_header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};
struct dump_record {
	uint32_t id, size;		/* of the whole record */
	uint64_t time;
};
struct dump_load {			/* behind it: the name with its NUL, the code */
	struct dump_record record;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

bool jitdump_path(const char *path)
{
	const char *name = path_name(path);
	size_t digits = strncmp(name, "jit-", 4) == 0 ? strspn(name + 4, "0123456789") : 0;

	return digits && strcmp(name + 4 + digits, ".dump") == 0;
}

static bool dump_read(int fd, void *to, size_t size, off_t at)
{
	return pread(fd, to, size, at) == (ssize_t)size;
}

/* 0, -ENOMEM, or -EINVAL: the record contradicts itself. */
static int dump_add(struct object *o, int fd, off_t at, uint32_t size)
{
	char text[DUMP_NAME];
	struct dump_load load;
	size_t room = size - sizeof(load);
	ssize_t n;
	char *name;

	if (size <= sizeof(load) || !dump_read(fd, &load, sizeof(load), at))
		return -EINVAL;
	room = room < sizeof(text) - 1 ? room : sizeof(text) - 1;
	n = pread(fd, text, room, at + (off_t)sizeof(load));
	if (n <= 0 || !load.size || load.address + load.size < load.address)
		return -EINVAL;
	text[n] = '\0';
	name = arena_string(&o->symbols->arena, *text ? text : "(unnamed)");
	if (!name)
		return -ENOMEM;
	return entries_add(&o->names, (struct entry){ .name = name, .start = load.address,
						      .size = load.size },
			   load.address + load.size, (uint32_t)o->names.n);
}

static bool dump_begin(int fd, off_t size, off_t *done)
{
	struct dump_header h;

	if (!dump_read(fd, &h, sizeof(h), 0) || h.magic != DUMP_MAGIC || h.version != 1 ||
	    h.size < sizeof(h) || (off_t)h.size > size)
		return false;
	*done = h.size;
	return true;
}

int jitdump_read(struct object *o, int fd, off_t size, off_t *done, uint64_t *bad)
{
	struct dump_record r;
	int err = 0;

	if (!*done && !dump_begin(fd, size, done)) {
		*bad = 1;
		return 0;
	}
	for (unsigned int i = 0; i < DUMP_RECORDS; i++) {
		/* The last record may be incomplete: it is read again when there is more. */
		if (size - *done < (off_t)sizeof(r) || !dump_read(fd, &r, sizeof(r), *done) ||
		    (r.size >= sizeof(r) && (off_t)r.size > size - *done))
			break;
		if (r.size < sizeof(r)) {
			++*bad;
			*done = size;
			break;
		}
		err = r.id == DUMP_LOAD ? dump_add(o, fd, *done, r.size) : 0;
		if (err == -ENOMEM)
			return err;
		*bad += err == -EINVAL;
		*done += r.size;
	}
	return spans_sort(&o->names.spans);
}
