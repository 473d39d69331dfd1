/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's trace points: one table for the programs, which write the ids, and for the daemon,
 * which puts the texts into the rings and attaches the program on_TRACEPOINT while one of its
 * events is on.
 *
 * X(id, tracepoint, classes, types of the parameters, text).  A text (T) takes two parameters;
 * addresses (P) are hidden from the unprivileged; D and U have 32 bits, W is a word.
 */
#ifndef PMCBPF_KTR_EVENTS_H
#define PMCBPF_KTR_EVENTS_H

#define KTR_THREAD_(what) \
	"KTRGRAPH group:\"thread\", id:\"%s tid %d\", " what ", attributes: prio:%d"

#define KTR_EVENTS_OWN(X) \
	/* Not of a tracepoint: the daemon's entries. */ \
	X(MARK, , KTR_GEN, (T, T), "%s%s") \
	X(FREEZE, , KTR_GEN, (T, D), "tracing frozen by %s pid=%d") \
	X(THAW, , KTR_GEN, (T, D), "tracing goes on, by %s pid=%d") \
	/* The last entries before tracing stops, written by the triggers' programs. */ \
	X(STOP_SIGNAL, , KTR_GEN, (D, D, T), "tracing stopped: signal %d to %d (%s)") \
	X(STOP_OOM, , KTR_GEN, (D, T), "tracing stopped: oom kill of %d (%s)") \
	X(STOP_PANIC, , KTR_GEN, (T, T), "tracing stopped: panic: %s%s") \
	X(STOP_TP, , KTR_GEN, (T, T), "tracing stopped: tracepoint %s%s")

#define KTR_EVENTS_TASK(X) \
	X(PRINTK, console, KTR_GEN, (T, T), "%s%s") \
	X(PRINTK_ON, console, KTR_GEN, (T, T), "+%s%s") \
	X(RUN, sched_switch, KTR_SCHED, (T, D, D), KTR_THREAD_("state:\"running\"")) \
	X(RUNNABLE, sched_switch, KTR_SCHED, (T, D, D), KTR_THREAD_("state:\"runq add\"")) \
	X(SLEEP, sched_switch, KTR_SCHED, (T, D, D), KTR_THREAD_("state:\"sleep\"")) \
	X(BLOCK, sched_switch, KTR_SCHED, (T, D, D), KTR_THREAD_("state:\"blocked\"")) \
	X(GONE, sched_switch, KTR_SCHED, (T, D, D), KTR_THREAD_("state:\"exited\"")) \
	X(WOKEUP, sched_wakeup, KTR_SCHED, (T, D, D), KTR_THREAD_("point:\"wokeup\"")) \
	X(BORN, sched_wakeup_new, KTR_SCHED, (T, D, D), KTR_THREAD_("point:\"new\"")) \
	X(MIGRATED, sched_migrate_task, KTR_SCHED, (T, D, D), KTR_THREAD_("point:\"migrate\"")) \
	X(WAKEUP, sched_wakeup, KTR_RUNQ, (D, D, D), "wakeup tid=%d prio=%d cpu=%d") \
	X(WAKEUP_NEW, sched_wakeup_new, KTR_RUNQ, (D, D, D), "wakeup new tid=%d prio=%d cpu=%d") \
	X(MIGRATE, sched_migrate_task, KTR_RUNQ, (D, D, D, D), \
	  "migrate tid=%d prio=%d cpu=%d to cpu=%d") \
	X(FORK, sched_process_fork, KTR_PROC, (D, D), "fork parent=%d child=%d") \
	X(EXEC, sched_process_exec, KTR_PROC, (D, T), "exec pid=%d %s") \
	X(EXIT, sched_process_exit, KTR_PROC, (D, U, T), "exit tid=%d code=%x %s") \
	X(NEWTASK, task_newtask, KTR_PROC, (D, W, T), "new task tid=%d flags=%x %s") \
	X(RENAME, task_rename, KTR_PROC, (D, T, T), "rename tid=%d %s to %s") \
	X(SYSCALL, sys_enter, KTR_SYSC, (P, W), "syscall p=0x%x #0x%x") \
	X(SYSRET, sys_exit, KTR_SYSC, (P, D, P), "syscall p=0x%x err=%d ret=%x") \
	X(PTRACE, sys_enter, KTR_PTRACE, (D, D), "ptrace request=0x%x pid=%d") \
	X(SIGNAL, signal_generate, KTR_SIG, (D, D, D, D), "signal %d to tid=%d code=%d res=%d") \
	X(DELIVER, signal_deliver, KTR_SIG, (D, D), "signal %d delivered code=%d") \
	X(OOM_KILL, mark_victim, KTR_VM, (D, T), "oom kill of %d %s")

#define KTR_EVENTS_MEM(X) \
	X(KMALLOC, kmalloc, KTR_MALLOC, (P, W, P), "kmalloc 0x%x size=%d from 0x%x") \
	X(KFREE, kfree, KTR_MALLOC, (P, P), "kfree 0x%x from 0x%x") \
	X(UMA_ALLOC, kmem_cache_alloc, KTR_UMA, (P, U, P, T), \
	  "slab alloc 0x%x size=%d from 0x%x %s") \
	X(UMA_FREE, kmem_cache_free, KTR_UMA, (P, P, T), "slab free 0x%x from 0x%x %s") \
	X(TLB_FLUSH, tlb_flush, KTR_PMAP, (W, D), "tlb flush pages=%d reason=%d") \
	X(FAULT_USER, page_fault_user, KTR_TRAP, (P, P, W), "pagefault addr=0x%x ip=0x%x err=%x") \
	X(FAULT_KERNEL, page_fault_kernel, KTR_TRAP | KTR_PMAP, (P, P, W), \
	  "kernel pagefault addr=0x%x ip=0x%x err=%x") \
	X(NMI, nmi_handler, KTR_TRAP, (P, W, D), "nmi handler=0x%x ns=%d handled=%d") \
	X(PAGE_ALLOC, mm_page_alloc, KTR_VM, (P, U, U), "page alloc 0x%x order=%d gfp=%x") \
	X(PAGE_FREE, mm_page_free, KTR_VM, (P, U), "page free 0x%x order=%d") \
	X(KSWAPD, mm_vmscan_kswapd_wake, KTR_VM, (D, D, D), \
	  "kswapd wake node=%d zone=%d order=%d") \
	X(RECLAIM, mm_vmscan_direct_reclaim_begin, KTR_VM, (), "direct reclaim") \
	X(RECLAIMED, mm_vmscan_direct_reclaim_end, KTR_VM, (W), "direct reclaim done pages=%d") \
	X(COMPACT, mm_compaction_begin, KTR_VM, (), "compaction") \
	X(MIGRATE_PAGES, mm_migrate_pages, KTR_VM, (W, W), "migrate pages ok=%d failed=%d") \
	X(MAP_AREA, vm_unmapped_area, KTR_VM, (P), "mmap area at 0x%x") \
	X(CACHE_ADD, mm_filemap_add_to_page_cache, KTR_VFS, (P, W), \
	  "page cache add 0x%x index=%d") \
	X(DIRTY_PAGE, writeback_dirty_folio, KTR_VFS, (P, P), "dirty page 0x%x mapping=0x%x") \
	X(DIRTY_INODE, writeback_mark_inode_dirty, KTR_VFS, (W, W), "dirty inode ino=%d flags=%x") \
	X(POSIX_LOCK, posix_lock_inode, KTR_VFS, (W, D), "posix lock ino=%d res=%d") \
	X(FLOCK, flock_lock_inode, KTR_VFS, (W, D), "flock ino=%d res=%d")

#define KTR_EVENTS_IRQ(X) \
	X(IRQ, irq_handler_entry, KTR_INTR, (D, T), "irq %d %s") \
	X(IRQ_DONE, irq_handler_exit, KTR_INTR, (D, D), "irq %d done res=%d") \
	X(SOFTIRQ_RAISE, softirq_raise, KTR_INTR, (U), "softirq raise vec=%d") \
	X(SOFTIRQ, softirq_entry, KTR_INTR, (U), "softirq vec=%d") \
	X(SOFTIRQ_DONE, softirq_exit, KTR_INTR, (U), "softirq done vec=%d") \
	X(TASKLET, tasklet_entry, KTR_INTR, (P, P), "tasklet 0x%x fn=0x%x") \
	X(TICK, local_timer_entry, KTR_CLK, (), "clock tick") \
	X(TICK_DONE, local_timer_exit, KTR_CLK, (), "clock tick done") \
	X(TICK_STOP, tick_stop, KTR_CLK, (D, D), "clock tick stop=%d dependency=%x") \
	X(TIMER, timer_start, KTR_CALLOUT, (P, P, W), "timer 0x%x fn=0x%x expires=%d") \
	X(TIMER_FIRE, timer_expire_entry, KTR_CALLOUT, (P, P), "timer expire 0x%x fn=0x%x") \
	X(TIMER_CANCEL, timer_cancel, KTR_CALLOUT, (P), "timer cancel 0x%x") \
	X(HRTIMER, hrtimer_start, KTR_CALLOUT, (P, P, W), "hrtimer 0x%x fn=0x%x expires=%d") \
	X(HRTIMER_FIRE, hrtimer_expire_entry, KTR_CALLOUT, (P, P), "hrtimer expire 0x%x fn=0x%x") \
	X(HRTIMER_CANCEL, hrtimer_cancel, KTR_CALLOUT, (P), "hrtimer cancel 0x%x") \
	X(WORK_QUEUE, workqueue_queue_work, KTR_CALLOUT, (P, P, D), \
	  "work queue 0x%x fn=0x%x cpu=%d") \
	X(WORK, workqueue_execute_start, KTR_CALLOUT, (P, P), "work 0x%x fn=0x%x") \
	X(WORK_DONE, workqueue_execute_end, KTR_CALLOUT, (P, P), "work done 0x%x fn=0x%x") \
	X(IPI_SEND, ipi_send_cpu, KTR_SMP, (U, P, P), "ipi to cpu=%d fn=0x%x from 0x%x") \
	X(IPI_RAISE, ipi_raise, KTR_SMP, (T), "ipi raise %s") \
	X(IPI, ipi_entry, KTR_SMP, (T), "ipi %s") \
	X(CALL_QUEUE, csd_queue_cpu, KTR_SMP, (U, P, P), "call to cpu=%d fn=0x%x from 0x%x") \
	X(CALL, csd_function_entry, KTR_SMP, (P), "call fn=0x%x") \
	X(CALL_DONE, csd_function_exit, KTR_SMP, (P), "call done fn=0x%x") \
	X(RESCHEDULE, reschedule_entry, KTR_SMP, (), "ipi reschedule") \
	X(CALL_IPI, call_function_entry, KTR_SMP, (), "ipi call function") \
	X(CALL_IPI_ONE, call_function_single_entry, KTR_SMP, (), "ipi call function single") \
	X(CPU_STEP, cpuhp_enter, KTR_SMP, (U, D, D, P), "cpu %d towards state=%d step=%d fn=0x%x") \
	X(CPU_STEPPED, cpuhp_exit, KTR_SMP, (U, D, D, D), "cpu %d state=%d step=%d res=%d") \
	X(WAIT, contention_begin, KTR_LOCK | KTR_CONTENTION, (P, U), \
	  "lock contention 0x%x flags=%x") \
	X(WAIT_END, contention_end, KTR_LOCK, (P, D), "lock contention end 0x%x res=%d") \
	X(WAITED, contention_end, KTR_CONTENTION, (P, W), "lock 0x%x waited %d ns") \
	X(NOTIFY, notifier_run, KTR_EVH, (P), "notifier 0x%x") \
	X(NOTIFIER, notifier_register, KTR_EVH, (P), "notifier register 0x%x") \
	X(INITCALL, initcall_start, KTR_INIT, (P), "initcall 0x%x") \
	X(INITCALL_DONE, initcall_finish, KTR_INIT, (P, D), "initcall 0x%x ret=%d") \
	X(MODULE, module_load, KTR_INIT, (T), "module load %s") \
	X(MODULE_FREE, module_free, KTR_INIT, (T), "module free %s") \
	X(CPU_FREQUENCY, cpu_frequency, KTR_DEV, (U, U), "cpu frequency kHz=%d cpu=%d") \
	X(CPU_IDLE, cpu_idle, KTR_DEV, (D, U), "cpu idle state=%d cpu=%d") \
	X(MSR_WRITE, write_msr, KTR_DEV, (U, P, D), "wrmsr 0x%x value=0x%x failed=%d") \
	X(MSR_READ, read_msr, KTR_DEV, (U, P, D), "rdmsr 0x%x value=0x%x failed=%d")

#define KTR_EVENTS_NET(X) \
	X(NET_QUEUE, net_dev_queue, KTR_NET, (P, U, T), "net queue skb=0x%x len=%d dev=%s") \
	X(NET_XMIT, net_dev_xmit, KTR_NET, (P, U, T, D), "net xmit skb=0x%x len=%d dev=%s rc=%d") \
	X(NET_RECEIVE, netif_receive_skb, KTR_NET, (P, U, T), \
	  "net receive skb=0x%x len=%d dev=%s") \
	X(NET_RX, netif_rx, KTR_NET, (P, U, T), "net rx skb=0x%x len=%d dev=%s") \
	X(NAPI, napi_poll, KTR_NET, (D, D, T), "napi poll work=%d budget=%d dev=%s") \
	X(ENQUEUE, qdisc_enqueue, KTR_NET, (P, P), "qdisc enqueue 0x%x skb=0x%x") \
	X(DEQUEUE, qdisc_dequeue, KTR_NET, (P, D, P), "qdisc dequeue 0x%x packets=%d skb=0x%x") \
	X(NET_DROP, kfree_skb, KTR_NET, (P, P, U), "net drop skb=0x%x at 0x%x reason=%d") \
	X(SOCK_STATE, inet_sock_set_state, KTR_INET, (P, D, D, U, U), \
	  "sock 0x%x state %d to %d lport=%d rport=%d") \
	X(TCP_SEGMENT, tcp_probe, KTR_INET, (P, U), "tcp segment sock=0x%x len=%d") \
	X(TCP_RESEND, tcp_retransmit_skb, KTR_INET, (P, P), "tcp retransmit sock=0x%x skb=0x%x") \
	X(TCP_RESET, tcp_send_reset, KTR_INET, (P), "tcp reset sock=0x%x") \
	X(TCP_RESET_IN, tcp_receive_reset, KTR_INET, (P), "tcp reset received sock=0x%x") \
	X(TCP_DESTROY, tcp_destroy_sock, KTR_INET, (P), "tcp destroy sock=0x%x") \
	X(UDP_FULL, udp_fail_queue_rcv_skb, KTR_INET, (P, D), "udp queue failed sock=0x%x rc=%d") \
	X(FIB, fib_table_lookup, KTR_INET, (U, U, D), "fib lookup table=%d to=%08x err=%d") \
	X(ICMP, icmp_send, KTR_INET, (P, D, D), "icmp send skb=0x%x type=%d code=%d") \
	X(FIB6, fib6_table_lookup, KTR_INET6, (U), "fib6 lookup table=%d") \
	X(NEIGHBOUR, neigh_create, KTR_INET | KTR_INET6, (P, T), "neighbour new 0x%x dev=%s") \
	X(NEIGHBOUR_IS, neigh_update, KTR_INET | KTR_INET6, (P, U, U), \
	  "neighbour 0x%x state=%x flags=%x") \
	X(BLK_ISSUE, block_rq_issue, KTR_GEOM, (U, W, U, U), \
	  "blk issue dev=%x sector=%d n=%d op=%x") \
	X(BLK_DONE, block_rq_complete, KTR_GEOM, (U, W, U, D), \
	  "blk complete dev=%x sector=%d n=%d err=%d") \
	X(BIO, block_bio_queue, KTR_GEOM, (U, W, U), "bio queue dev=%x sector=%d n=%d") \
	X(BIO_DONE, block_bio_complete, KTR_GEOM, (U, W, U), "bio complete dev=%x sector=%d n=%d") \
	X(BUF_TOUCH, block_touch_buffer, KTR_BUF, (U, W, U), \
	  "buffer touch dev=%x block=%d size=%d") \
	X(BUF_DIRTY, block_dirty_buffer, KTR_BUF, (U, W, U), \
	  "buffer dirty dev=%x block=%d size=%d") \
	X(DMA_PAGE, dma_map_page, KTR_BUSDMA, (P, W, D), "dma map 0x%x size=%d direction=%d") \
	X(DMA_PAGE_END, dma_unmap_page, KTR_BUSDMA, (P, W, D), \
	  "dma unmap 0x%x size=%d direction=%d") \
	X(DMA, dma_map_phys, KTR_BUSDMA, (P, W, D), "dma map 0x%x size=%d direction=%d") \
	X(DMA_END, dma_unmap_phys, KTR_BUSDMA, (P, W, D), "dma unmap 0x%x size=%d direction=%d") \
	X(BOUNCE, swiotlb_bounced, KTR_BUSDMA, (P, W), "dma bounce 0x%x size=%d") \
	X(IOMMU_MAP, map, KTR_BUSDMA, (P, P, W), "iommu map 0x%x to 0x%x size=%d") \
	X(IOMMU_UNMAP, unmap, KTR_BUSDMA, (P, W), "iommu unmap 0x%x size=%d") \
	X(EXT4_WRITE, ext4_da_write_begin, KTR_SUBSYS, (P, W, U), \
	  "ext4 write inode=0x%x pos=%d len=%d") \
	X(EXT4_SYNC, ext4_sync_file_enter, KTR_SUBSYS, (P, D), "ext4 sync file=0x%x datasync=%d") \
	X(EXT4_SYNCED, ext4_sync_file_exit, KTR_SUBSYS, (P, D), "ext4 synced inode=0x%x ret=%d") \
	X(JBD2_COMMIT, jbd2_start_commit, KTR_SUBSYS, (P), "jbd2 commit journal=0x%x") \
	X(JBD2_COMMITTED, jbd2_end_commit, KTR_SUBSYS, (P), "jbd2 committed journal=0x%x")

#define KTR_EVENT_TABLE(X) \
	KTR_EVENTS_OWN(X) KTR_EVENTS_TASK(X) KTR_EVENTS_MEM(X) KTR_EVENTS_IRQ(X) KTR_EVENTS_NET(X)

#endif
