/* SPDX-License-Identifier: GPL-2.0 */
/* Memory and files: MALLOC, UMA, PMAP, TRAP, VM, VFS. */
#ifndef PMCBPF_KTR_MEM_BPF_H
#define PMCBPF_KTR_MEM_BPF_H

#include "ktr.bpf.h"

KTR_RAW_TP(kmalloc, unsigned long site, const void *at, unsigned long size)
{
	CTR3(KMALLOC, at, size, site);
	return 0;
}

KTR_RAW_TP(kfree, unsigned long site, const void *at)
{
	CTR2(KFREE, at, site);
	return 0;
}

/* Linux 6.1 passes const void * arguments only to programs without type information. */
KTR_RAW_TP(kmem_cache_alloc, unsigned long site, const void *at, struct kmem_cache *cache)
{
	KTR_ENTRY(UMA_ALLOC, w) {
		w.e->ktr_parm1 = (u64)at;
		w.e->ktr_parm2 = BPF_CORE_READ(cache, object_size);
		w.e->ktr_parm3 = site;
		ktr_string(&w.e->ktr_parm4, BPF_CORE_READ(cache, name));
	}
	return 0;
}

KTR_RAW_TP(kmem_cache_free, unsigned long site, const void *at, const struct kmem_cache *cache)
{
	KTR_ENTRY(UMA_FREE, w) {
		w.e->ktr_parm1 = (u64)at;
		w.e->ktr_parm2 = site;
		ktr_string(&w.e->ktr_parm3, BPF_CORE_READ(cache, name));
	}
	return 0;
}

KTR_RAW_TP(tlb_flush, int reason, unsigned long pages)
{
	CTR2(TLB_FLUSH, pages, reason);
	return 0;
}

#ifdef __TARGET_ARCH_x86
KTR_TP(page_fault_user, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	CTR3(FAULT_USER, address, regs->ip, code);
	return 0;
}

KTR_TP(page_fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	CTR3(FAULT_KERNEL, address, regs->ip, code);
	return 0;
}
#endif

KTR_RAW_TP(nmi_handler, void *handler, s64 ns, int handled)
{
	CTR3(NMI, handler, ns, handled);
	return 0;
}

KTR_RAW_TP(mm_page_alloc, void *page, unsigned int order, unsigned int gfp)
{
	CTR3(PAGE_ALLOC, page, order, gfp);
	return 0;
}

KTR_RAW_TP(mm_page_free, void *page, unsigned int order)
{
	CTR2(PAGE_FREE, page, order);
	return 0;
}

KTR_RAW_TP(mm_vmscan_kswapd_wake, int node, int zone, int order)
{
	CTR3(KSWAPD, node, zone, order);
	return 0;
}

KTR_RAW_TP(mm_vmscan_direct_reclaim_begin)
{
	CTR0(RECLAIM);
	return 0;
}

KTR_RAW_TP(mm_vmscan_direct_reclaim_end, unsigned long pages)
{
	CTR1(RECLAIMED, pages);
	return 0;
}

KTR_RAW_TP(mm_compaction_begin)
{
	CTR0(COMPACT);
	return 0;
}

KTR_RAW_TP(mm_migrate_pages, unsigned long ok, unsigned long failed)
{
	CTR2(MIGRATE_PAGES, ok, failed);
	return 0;
}

KTR_RAW_TP(vm_unmapped_area, unsigned long address)
{
	CTR1(MAP_AREA, address);
	return 0;
}

KTR_TP(mm_filemap_add_to_page_cache, struct folio *folio)
{
	CTR2(CACHE_ADD, folio, folio->index);
	return 0;
}

KTR_RAW_TP(writeback_dirty_folio, void *folio, void *mapping)
{
	CTR2(DIRTY_PAGE, folio, mapping);
	return 0;
}

KTR_TP(writeback_mark_inode_dirty, struct inode *inode, int flags)
{
	CTR2(DIRTY_INODE, inode->i_ino, flags);
	return 0;
}

KTR_TP(posix_lock_inode, struct inode *inode, void *lock, int result)
{
	CTR2(POSIX_LOCK, inode->i_ino, result);
	return 0;
}

KTR_TP(flock_lock_inode, struct inode *inode, void *lock, int result)
{
	CTR2(FLOCK, inode->i_ino, result);
	return 0;
}

#endif
