/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "fdes.h"
#include "lib/base/array.h"

#define ENTRY_SIZE_MAX 128u		/* of a dynamic linker's first function */

/* The CIE at this offset, or NULL. */
static const struct cfi_cie *fdes_cie(struct fdes *fs, uint32_t offset)
{
	struct cie_slot *slot = &fs->cies[offset / 4 % FDES_CIES];

	if (!slot->read || slot->offset != offset) {
		slot->read = true;
		slot->offset = offset;
		slot->good = cfi_cie_read(&fs->image->frame, offset, &slot->cie);
		fs->work += slot->cie.size;
	}
	return slot->good ? &slot->cie : NULL;
}

static int fdes_add(struct fdes *fs, uint64_t start, uint64_t size, uint32_t entry,
		    struct reason *why)
{
	const struct image *image = fs->image;

	size = image_clip(image, start, size);
	if (!size)
		return 0;		/* of a function that the linker has removed */
	if (fs->n == UNWIND_FDES_MAX)
		return deny(why, -E2BIG, "it has call frame information of more than %u functions",
			    UNWIND_FDES_MAX);
	if (array_reserve(fs->list, fs->room, fs->n + 1) != 0)
		return deny(why, -ENOMEM, "no memory for call frame information");
	fs->list[fs->n++] = (struct fde){ (uint32_t)(start - image->base), (uint32_t)size, entry };
	return 0;
}

static int fdes_check_work(const struct fdes *fs, struct reason *why)
{
	if (fs->work <= UNWIND_WORK_MAX)
		return 0;
	return deny(why, -E2BIG, "its call frame information takes too many instructions");
}

static int fdes_scan(struct fdes *fs, struct reason *why)
{
	const struct cfi_section *s = &fs->image->frame;
	struct cfi_entry e;
	struct cfi_fde fde;
	uint32_t offset = 0;
	int err = 0, more;

	while (!err && (more = cfi_entry_next(s, &offset, &e)) != 0) {
		const struct cfi_cie *cie;

		if (more < 0)
			return deny(why, -EBADMSG, "its .eh_frame is damaged at offset %u", offset);
		if (e.is_cie)
			continue;
		cie = fdes_cie(fs, e.cie);
		if (cie && cfi_fde_read(s, &e, cie, &fde))
			err = fdes_add(fs, fde.start, fde.size, e.offset, why);
		else
			fs->nskipped++;
		err = err ?: fdes_check_work(fs, why);
	}
	return err;
}

/*
 * A dynamic linker's first function has no entry, and no caller: it gets one up to the next
 * function.
 */
static int fdes_add_start(struct fdes *fs, struct reason *why)
{
	const uint64_t start = fs->image->entry;
	uint64_t end = start + ENTRY_SIZE_MAX;

	if (!start || !fs->n || !image_clip(fs->image, start, 1))
		return 0;
	for (uint32_t i = 0; i < fs->n; i++) {
		uint64_t first = fs->image->base + fs->list[i].start;

		if (first <= start && start - first < fs->list[i].size)
			return 0;
		if (first > start && first < end)
			end = first;
	}
	return fdes_add(fs, start, end - start, FDE_END, why);
}

/* Unless there is information on it. */
static int fdes_add_known(struct fdes *fs, const struct image_known *known, struct reason *why)
{
	const uint64_t end = known->start + known->size;
	uint64_t at = known->start;
	int err = 0;

	if (image_clip(fs->image, known->start, known->size) != known->size)
		return 0;
	for (uint32_t i = 0; i < fs->n; i++) {
		uint64_t first = fs->image->base + fs->list[i].start;

		if (first < end && first + fs->list[i].size > known->start)
			return 0;
	}
	for (uint32_t i = 0; i < IMAGE_KNOWN_PARTS && !err; i++) {
		const struct image_part *part = &known->parts[i];

		err = fdes_add(fs, at, part->size, FDE_KNOWN + part->stack, why);
		at += part->size;
	}
	return err;
}

static int fdes_compare(const void *a, const void *b)
{
	const struct fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void fdes_sort(struct fdes *fs)
{
	for (uint32_t i = 1; i < fs->n; i++) {
		if (fs->list[i - 1].start > fs->list[i].start) {
			qsort(fs->list, fs->n, sizeof(*fs->list), fdes_compare);
			return;
		}
	}
}

int fdes_read(struct fdes *fs, const struct image *image, struct reason *why)
{
	int err;

	*fs = (struct fdes){ .image = image };
	err = fdes_scan(fs, why);
	err = err ?: fdes_add_start(fs, why);
	if (!err && image->trampoline)
		err = fdes_add(fs, image->trampoline, image->trampoline_size, FDE_SIGNAL, why);
	for (uint32_t i = 0; !err && i < image->nknown; i++)
		err = fdes_add_known(fs, &image->known[i], why);
	if (!err)
		fdes_sort(fs);
	return err;
}

void fdes_free(struct fdes *fs)
{
	free(fs->list);
	fs->list = NULL;
	fs->n = fs->room = 0;
}

int fdes_entry(struct fdes *fs, const struct fde *f, struct cfi_fde *out, struct reason *why)
{
	const struct cfi_section *s = &fs->image->frame;
	uint32_t offset = f->entry;
	const struct cfi_cie *cie;
	struct cfi_entry e;

	/* It was readable when it was found, and the memory has not changed. */
	if (cfi_entry_next(s, &offset, &e) <= 0 || !(cie = fdes_cie(fs, e.cie)) ||
	    !cfi_fde_read(s, &e, cie, out))
		return deny(why, -EBADMSG, "its .eh_frame is damaged at offset %u", f->entry);
	fs->work += cfi_left(&out->program) + cfi_left(&cie->program);
	return fdes_check_work(fs, why);
}
