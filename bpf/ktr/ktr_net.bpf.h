/* SPDX-License-Identifier: GPL-2.0 */
/* Network, disks, DMA: NET, INET, INET6, GEOM, BUF, BUSDMA, SUBSYS. */
#ifndef PMCBPF_KTR_NET_BPF_H
#define PMCBPF_KTR_NET_BPF_H

#include "ktr.bpf.h"

/* --- NET ----------------------------------------------------------------------------------- */

static __always_inline void packet(struct ktr_entry *e, struct sk_buff *skb)
{
	e->ktr_parm1 = (u64)skb;
	e->ktr_parm2 = skb->len;
	ktr_text(&e->ktr_parm3, skb->dev->name);
}

KTR_TP(net_dev_queue, struct sk_buff *skb)
{
	KTR_ENTRY(NET_QUEUE, w)
		packet(w.e, skb);
	return 0;
}

/* The packet may be freed by now. */
KTR_TP(net_dev_xmit, void *skb, int rc, struct net_device *dev, unsigned int len)
{
	KTR_ENTRY(NET_XMIT, w) {
		w.e->ktr_parm1 = (u64)skb;
		w.e->ktr_parm2 = len;
		ktr_text(&w.e->ktr_parm3, dev->name);
		w.e->ktr_parm5 = rc;
	}
	return 0;
}

KTR_TP(netif_receive_skb, struct sk_buff *skb)
{
	KTR_ENTRY(NET_RECEIVE, w)
		packet(w.e, skb);
	return 0;
}

KTR_TP(netif_rx, struct sk_buff *skb)
{
	KTR_ENTRY(NET_RX, w)
		packet(w.e, skb);
	return 0;
}

KTR_TP(napi_poll, struct napi_struct *napi, int work, int budget)
{
	KTR_ENTRY(NAPI, w) {
		w.e->ktr_parm1 = work;
		w.e->ktr_parm2 = budget;
		ktr_text(&w.e->ktr_parm3, napi->dev->name);
	}
	return 0;
}

KTR_RAW_TP(qdisc_enqueue, void *qdisc, void *queue, void *skb)
{
	CTR2(ENQUEUE, qdisc, skb);
	return 0;
}

KTR_RAW_TP(qdisc_dequeue, void *qdisc, void *queue, int packets, void *skb)
{
	CTR3(DEQUEUE, qdisc, packets, skb);
	return 0;
}

KTR_RAW_TP(kfree_skb, void *skb, void *site, unsigned int reason)
{
	CTR3(NET_DROP, skb, site, reason);
	return 0;
}

/* --- INET, INET6 --------------------------------------------------------------------------- */

KTR_TP(inet_sock_set_state, const struct sock *sk, int from, int to)
{
	CTR5(SOCK_STATE, sk, from, to, sk->__sk_common.skc_num,
	     bpf_ntohs(sk->__sk_common.skc_dport));
	return 0;
}

KTR_TP(tcp_probe, const struct sock *sk, const struct sk_buff *skb)
{
	CTR2(TCP_SEGMENT, sk, skb->len);
	return 0;
}

KTR_RAW_TP(tcp_retransmit_skb, void *sk, void *skb)
{
	CTR2(TCP_RESEND, sk, skb);
	return 0;
}

KTR_RAW_TP(tcp_send_reset, void *sk)
{
	CTR1(TCP_RESET, sk);
	return 0;
}

KTR_RAW_TP(tcp_receive_reset, void *sk)
{
	CTR1(TCP_RESET_IN, sk);
	return 0;
}

KTR_RAW_TP(tcp_destroy_sock, void *sk)
{
	CTR1(TCP_DESTROY, sk);
	return 0;
}

KTR_RAW_TP(udp_fail_queue_rcv_skb, int rc, void *sk)
{
	CTR2(UDP_FULL, sk, rc);
	return 0;
}

KTR_TP(fib_table_lookup, u32 table, const struct flowi4 *flow, const void *hop, int err)
{
	CTR3(FIB, table, bpf_ntohl(flow->daddr), err);
	return 0;
}

KTR_RAW_TP(icmp_send, void *skb, int type, int code)
{
	CTR3(ICMP, skb, type, code);
	return 0;
}

KTR_TP(fib6_table_lookup, const void *net, const void *result, struct fib6_table *table)
{
	CTR1(FIB6, table->tb6_id);
	return 0;
}

KTR_TP(neigh_create, void *table, struct net_device *dev, const void *key, const void *neighbour)
{
	KTR_ENTRY(NEIGHBOUR, w) {
		w.e->ktr_parm1 = (u64)neighbour;
		ktr_text(&w.e->ktr_parm2, dev->name);
	}
	return 0;
}

KTR_RAW_TP(neigh_update, void *neighbour, const void *address, u32 state, u32 flags)
{
	CTR3(NEIGHBOUR_IS, neighbour, (u8)state, flags);
	return 0;
}

/* --- GEOM, BUF ----------------------------------------------------------------------------- */

/* in the kernel's packing */
static __always_inline u32 disk(const struct request *rq)
{
	const struct gendisk *d = rq->q->disk;

	return d->major << 20 | d->first_minor;
}

KTR_TP(block_rq_issue, struct request *rq)
{
	CTR4(BLK_ISSUE, disk(rq), rq->__sector, rq->__data_len, rq->cmd_flags);
	return 0;
}

KTR_TP(block_rq_complete, struct request *rq, int err, unsigned int bytes)
{
	CTR4(BLK_DONE, disk(rq), rq->__sector, bytes, (u8)err);
	return 0;
}

KTR_TP(block_bio_queue, struct bio *bio)
{
	CTR3(BIO, bio->bi_bdev->bd_dev, bio->bi_iter.bi_sector, bio->bi_iter.bi_size);
	return 0;
}

KTR_TP(block_bio_complete, void *queue, struct bio *bio)
{
	CTR3(BIO_DONE, bio->bi_bdev->bd_dev, bio->bi_iter.bi_sector, bio->bi_iter.bi_size);
	return 0;
}

KTR_TP(block_touch_buffer, struct buffer_head *b)
{
	CTR3(BUF_TOUCH, b->b_bdev->bd_dev, b->b_blocknr, b->b_size);
	return 0;
}

KTR_TP(block_dirty_buffer, struct buffer_head *b)
{
	CTR3(BUF_DIRTY, b->b_bdev->bd_dev, b->b_blocknr, b->b_size);
	return 0;
}

/* --- BUSDMA -------------------------------------------------------------------------------- */

KTR_RAW_TP(dma_map_page, void *dev, u64 from, u64 address, u64 size, int direction)
{
	CTR3(DMA_PAGE, address, size, direction);
	return 0;
}

KTR_RAW_TP(dma_unmap_page, void *dev, u64 address, u64 size, int direction)
{
	CTR3(DMA_PAGE_END, address, size, direction);
	return 0;
}

KTR_RAW_TP(dma_map_phys, void *dev, u64 from, u64 address, u64 size, int direction)
{
	CTR3(DMA, address, size, direction);
	return 0;
}

KTR_RAW_TP(dma_unmap_phys, void *dev, u64 address, u64 size, int direction)
{
	CTR3(DMA_END, address, size, direction);
	return 0;
}

KTR_RAW_TP(swiotlb_bounced, void *dev, u64 address, u64 size)
{
	CTR2(BOUNCE, address, size);
	return 0;
}

KTR_RAW_TP(map, u64 address, u64 to, u64 size)
{
	CTR3(IOMMU_MAP, address, to, size);
	return 0;
}

KTR_RAW_TP(unmap, u64 address, u64 size)
{
	CTR2(IOMMU_UNMAP, address, size);
	return 0;
}

/* --- SUBSYS -------------------------------------------------------------------------------- */

KTR_RAW_TP(ext4_da_write_begin, void *inode, u64 pos, unsigned int len)
{
	CTR3(EXT4_WRITE, inode, pos, len);
	return 0;
}

KTR_RAW_TP(ext4_sync_file_enter, void *file, int datasync)
{
	CTR2(EXT4_SYNC, file, datasync);
	return 0;
}

KTR_RAW_TP(ext4_sync_file_exit, void *inode, int result)
{
	CTR2(EXT4_SYNCED, inode, result);
	return 0;
}

KTR_RAW_TP(jbd2_start_commit, void *journal)
{
	CTR1(JBD2_COMMIT, journal);
	return 0;
}

KTR_RAW_TP(jbd2_end_commit, void *journal)
{
	CTR1(JBD2_COMMITTED, journal);
	return 0;
}

#endif
