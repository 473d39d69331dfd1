/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace regions of processes: see tracee.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracee.h"
#include "maps.h"
#include "region.h"

#define MEMFD "/memfd:ktr (deleted)"

/* --- its memory ----------------------------------------------------------------------------- */

/*
 * The result of process_vm_readv() or process_vm_writev(): 0 if all was transferred, else -errno.
 */
static int transfer_whole(ssize_t done, size_t len)
{
	if (done < 0)
		return -errno;
	return (size_t)done == len ? 0 : -EFAULT;
}

static int tracee_peek(pid_t pid, uint64_t address, void *data, size_t len)
{
	struct iovec here = { data, len }, there = { (void *)(uintptr_t)address, len };

	return transfer_whole(process_vm_readv(pid, &here, 1, &there, 1, 0), len);
}

static int tracee_poke(pid_t pid, uint64_t address, const void *data, size_t len)
{
	struct iovec here = { (void *)data, len }, there = { (void *)(uintptr_t)address, len };

	return transfer_whole(process_vm_writev(pid, &here, 1, &there, 1, 0), len);
}

int tracee_read(const struct tracee *proc, uint64_t offset, void *data, size_t len)
{
	if (proc->fd >= 0)
		return transfer_whole(pread(proc->fd, data, len, (off_t)offset), len);
	return tracee_peek(proc->pid, proc->base + offset, data, len);
}

int tracee_write(const struct tracee *proc, uint64_t offset, const void *data, size_t len)
{
	return tracee_poke(proc->pid, proc->base + offset, data, len);
}

int tracee_still(const struct tracee *proc)
{
	struct ktr_region now;
	int err = tracee_peek(proc->pid, proc->base, &now, sizeof(now));

	if (!err && (memcmp(now.magic, proc->head.magic, sizeof(now.magic)) ||
		     now.mask_address != proc->head.mask_address))
		err = -ESRCH;
	return err;
}

/* --- mappings ------------------------------------------------------------------------------- */

static bool mapping_may_hold_region(const struct mapping *map)
{
	return mapping_writable(map) && mapping_shared(map) && map->offset == 0 && map->inode &&
	       (!strcmp(map->path, MEMFD) ||
		(map->path[0] == '/' && strncmp(map->path, "/memfd:", 7) &&
		 strncmp(map->path, "/dev/", 5) && strncmp(map->path, "/SYSV", 5)));
}

/* 0: it is the region; -ENXIO: it is something else; other errors as tracee_open(). */
static int tracee_try_mapping(struct tracee *proc, const struct mapping *map, const char **fault)
{
	bool named = !strcmp(map->path, MEMFD);
	int err = tracee_peek(proc->pid, map->start, &proc->head, sizeof(proc->head));

	if (err == -EFAULT)
		return -ENXIO;
	if (err)
		return named || err == -ESRCH ? err : -ENXIO;
	if (!named && memcmp(proc->head.magic, KTR_REGION_MAGIC, sizeof(proc->head.magic)))
		return -ENXIO;
	proc->base = map->start;
	proc->size = map->end - map->start;
	*fault = region_fault(&proc->head, proc->size);
	return *fault ? -EBADMSG : 0;
}

/*
 * The file keeps the region when its process has ended; the kernel opens it for the privileged
 * only.
 */
static int tracee_open_file(const struct tracee *proc)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)proc->pid,
		 proc->base, proc->base + proc->size);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int tracee_open(struct tracee *proc, pid_t pid, const char **fault)
{
	struct mapping map;
	struct maps maps;
	int err = maps_open(&maps, pid), found = -ENXIO;

	*proc = (struct tracee){ .pid = pid, .fd = -1 };
	if (err)
		return err;
	while (found == -ENXIO && (err = maps_next(&maps, &map)) == 0)
		if (mapping_may_hold_region(&map))
			found = tracee_try_mapping(proc, &map, fault);
	if (found == -ENXIO && err < 0)
		found = err;
	if (!found)
		proc->fd = tracee_open_file(proc);
	maps_close(&maps);
	return found;
}

void tracee_close(struct tracee *proc)
{
	if (proc->fd >= 0)
		close(proc->fd);
}

int tracee_files(pid_t pid, struct buf *text)
{
	struct mapping map;
	struct maps maps;
	int err = maps_open(&maps, pid);

	if (err)
		return err;
	while ((err = maps_next(&maps, &map)) == 0)
		if (map.inode)
			buf_printf(text, "%s\n", maps.line);
	maps_close(&maps);
	return err < 0 ? err : 0;
}

/* --- mask and rings ------------------------------------------------------------------------- */

int tracee_written(const struct tracee *proc, uint64_t *written)
{
	*written = 0;
	for (uint32_t i = 0; i < proc->head.ncpu; i++) {
		struct ktr_ring ring;
		int err = tracee_read(proc, region_ring(&proc->head, i), &ring, sizeof(ring));

		if (err)
			return err;
		*written += ring.head;
	}
	return 0;
}

/* A variable can only be in private, writable memory. */
static int tracee_check_mask(const struct tracee *proc)
{
	uint64_t address = proc->head.mask_address;
	int err, found = -EFAULT;
	struct mapping map;
	struct maps maps;

	err = maps_open(&maps, proc->pid);
	if (err)
		return err;
	while ((err = maps_next(&maps, &map)) == 0)
		if (address >= map.start && address < map.end && address % sizeof(uint32_t) == 0 &&
		    mapping_writable(&map) && !mapping_shared(&map))
			found = 0;
	maps_close(&maps);
	return err < 0 ? err : found;
}

int tracee_get_mask(const struct tracee *proc, uint32_t *mask, uint32_t *saved)
{
	int err = tracee_check_mask(proc);

	if (!err)
		err = tracee_peek(proc->pid, proc->head.mask_address, mask, sizeof(*mask));
	if (!err)
		*saved = *mask ? 0 : proc->head.saved_mask;
	return err;
}

/*
 * The process may exec between the check and the write: the header is checked again as late as
 * possible.
 */
int tracee_set_mask(const struct tracee *proc, uint32_t mask)
{
	int err = tracee_check_mask(proc);

	if (!err)
		err = tracee_still(proc);
	return err ? err : tracee_poke(proc->pid, proc->head.mask_address, &mask, sizeof(mask));
}
