/* SPDX-License-Identifier: GPL-2.0 */
/* Values that a sampling PMC has asked for, of overflows. */
#ifndef PMCBPF_VALUES_BPF_H
#define PMCBPF_VALUES_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sample.bpf.h"

/* The kernel's PERF_SAMPLE_…: bits of the values that it has put into the sample's data. */
#define DATA_ADDR      (1ull << 3)
#define DATA_WEIGHT    (1ull << 14)
#define DATA_SRC       (1ull << 15)
#define DATA_TXN       (1ull << 17)
#define DATA_PHYS_ADDR (1ull << 19)
#define DATA_DATA_PAGE (1ull << 22)
#define DATA_CODE_PAGE (1ull << 23)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct values_scratch);
} values_scratch SEC(".maps");

static __always_inline void value_put(struct abi_values *v, enum abi_value which, u64 value)
{
	v->word[which] = value;
	v->values |= 1ull << which;
}

/* Values that the kernel collects, as far as it has done so. */
static __always_inline void values_of_kernel(struct abi_values *v, u32 want, bool hides_kernel,
					     struct perf_sample_data *data)
{
	u64 have = BPF_CORE_READ(data, sample_flags), addr;

	if (have & DATA_ADDR && want & 1u << ABI_VALUE_ADDR) {
		addr = BPF_CORE_READ(data, addr);
		if (!(hides_kernel && addr >> 63))
			value_put(v, ABI_VALUE_ADDR, addr);
	}
	if (have & DATA_PHYS_ADDR && want & 1u << ABI_VALUE_PHYS_ADDR)
		value_put(v, ABI_VALUE_PHYS_ADDR, BPF_CORE_READ(data, phys_addr));
	if (have & DATA_DATA_PAGE && want & 1u << ABI_VALUE_DATA_PAGE)
		value_put(v, ABI_VALUE_DATA_PAGE, BPF_CORE_READ(data, data_page_size));
	if (have & DATA_CODE_PAGE && want & 1u << ABI_VALUE_CODE_PAGE)
		value_put(v, ABI_VALUE_CODE_PAGE, BPF_CORE_READ(data, code_page_size));
	if (have & DATA_WEIGHT && want & 1u << ABI_VALUE_WEIGHT)
		value_put(v, ABI_VALUE_WEIGHT, BPF_CORE_READ(data, weight.full));
	if (have & DATA_SRC && want & 1u << ABI_VALUE_DATA_SRC)
		value_put(v, ABI_VALUE_DATA_SRC, BPF_CORE_READ(data, data_src.val));
	if (have & DATA_TXN && want & 1u << ABI_VALUE_TXN)
		value_put(v, ABI_VALUE_TXN, BPF_CORE_READ(data, txn));
}

/* The registers with which the thread entered the kernel from its program, if it has any. */
static __always_inline void values_user_regs(struct abi_values *v, const void *interrupted,
					     bool user)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const void *regs = user ? interrupted : (const void *)bpf_task_pt_regs(task);
	bool any = user || walk_has_registers(task);

	if (any)
		any = !bpf_probe_read_kernel(v->user_regs, sizeof(struct overflow_regs), regs);
	value_put(v, ABI_VALUE_USER_REGS, any);
}

static __always_inline void values_intr_regs(struct abi_values *v, const void *interrupted,
					     bool hidden)
{
	bool any = !hidden && !bpf_probe_read_kernel(v->intr_regs, sizeof(struct overflow_regs),
						     interrupted);

	value_put(v, ABI_VALUE_INTR_REGS, any);
}

/* Collects the values that are wanted; returns the bytes to be sent, or 0. */
static __always_inline u32 values_collect(struct bpf_perf_event_data *ctx,
					  const struct abi_sampler *of, struct abi_values *v)
{
	u32 want = of->values, bytes = offsetof(struct abi_values, user_regs);
	struct bpf_perf_event_data_kern *kern = (void *)ctx;
	const void *regs = BPF_CORE_READ(kern, regs);
	bool user = !(PT_IP(ctx) >> 63);

	v->values = 0;
	if (want & 1u << ABI_VALUE_PERIOD)
		value_put(v, ABI_VALUE_PERIOD, ctx->sample_period);
	if (want & 1u << ABI_VALUE_CGROUP)
		value_put(v, ABI_VALUE_CGROUP, bpf_get_current_cgroup_id());
	values_of_kernel(v, want, of->hides_kernel, BPF_CORE_READ(kern, data));
	if (want & (1u << ABI_VALUE_USER_REGS | 1u << ABI_VALUE_INTR_REGS))
		bytes = offsetof(struct abi_values, branch);
	if (want & 1u << ABI_VALUE_USER_REGS)
		values_user_regs(v, regs, user);
	if (want & 1u << ABI_VALUE_INTR_REGS)
		values_intr_regs(v, regs, of->hides_kernel && !user);
	if (want & 1u << ABI_VALUE_BRANCHES) {
		long n = bpf_read_branch_records(ctx, v->branch, sizeof(v->branch), 0);

		bytes = offsetof(struct abi_values, branch) + sizeof(v->branch);
		value_put(v, ABI_VALUE_BRANCHES, n > 0 ? (u64)n / sizeof(v->branch[0]) : 0);
	}
	return bytes;
}

#endif
