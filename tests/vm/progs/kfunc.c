// SPDX-License-Identifier: BSD-2-Clause
/* The program of kfunc.h, instruction by instruction: values[cpu] = function(argument). */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "kmod/pmcbpf_msr.h"
#include "kfunc.h"

#define CPUS 64			/* a power of two */

static int module_btf(void)
{
	uint32_t id = 0;

	while (bpf_btf_get_next_id(id, &id) == 0) {
		char name[64] = "";
		struct bpf_btf_info info = { .name = (uintptr_t)name, .name_len = sizeof(name) };
		uint32_t size = sizeof(info);
		int fd = bpf_btf_get_fd_by_id(id);

		if (fd < 0)
			continue;	/* of a module that has just gone */
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && !strcmp(name, PMCBPF_MSR_NAME))
			return fd;
		close(fd);
	}
	return -1;
}

static int load(struct kfunc *k, uint64_t argument, int function, int tracepoint)
{
	struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .imm = (int32_t)argument },
		{ .imm = (int32_t)(argument >> 32) },
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .off = 1,
		  .imm = function },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_smp_processor_id },
		{ .code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = 0, .imm = CPUS - 1 },
		{ .code = BPF_ALU64 | BPF_LSH | BPF_K, .dst_reg = 0, .imm = 3 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = k->map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = 1, .src_reg = 0 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 6 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fds[] = { -1, k->btf };	/* the kernel's own BTF has no descriptor */
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = (uint32_t)tracepoint, .fd_array = fds);

	k->program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "kfunc", "GPL", code,
				   sizeof(code) / sizeof(code[0]), &opts);
	if (k->program < 0)
		return -1;
	k->link = bpf_raw_tracepoint_open(NULL, k->program);
	return k->link < 0 ? -1 : 0;
}

int kfunc_load(struct kfunc *k, const char *name, uint64_t argument)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct btf *module = kernel ? btf__load_module_btf(PMCBPF_MSR_NAME, kernel) : NULL;
	int function, tracepoint, saved, result = -1;

	if (!module)
		goto out;
	function = btf__find_by_name_kind(module, name, BTF_KIND_FUNC);
	tracepoint = btf__find_by_name_kind(kernel, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	if (function < 0 || tracepoint < 0)
		goto out;
	k->btf = module_btf();
	k->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "values", sizeof(uint32_t),
				CPUS * sizeof(uint64_t), 1, NULL);
	if (k->btf >= 0 && k->map >= 0)
		result = load(k, argument, function, tracepoint);
out:
	saved = errno;
	if (result)
		kfunc_free(k);
	btf__free(module);
	btf__free(kernel);
	errno = saved;
	return result;
}

void kfunc_free(struct kfunc *k)
{
	int *fds[] = { &k->link, &k->program, &k->map, &k->btf };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

int kfunc_value(const struct kfunc *k, unsigned int cpu, uint64_t *value)
{
	uint64_t values[CPUS];
	uint32_t key = 0;

	if (cpu >= CPUS) {
		errno = EINVAL;
		return -1;
	}
	if (bpf_map_lookup_elem(k->map, &key, values))
		return -1;
	*value = values[cpu];
	return 0;
}

int deny_load(uint32_t uid)
{
	struct bpf_insn code[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_uid_gid },
		{ .code = BPF_ALU | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP32 | BPF_JNE | BPF_K, .dst_reg = 1, .off = 1,
		  .imm = (int32_t)uid },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = -EPERM },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct btf *kernel = btf__load_vmlinux_btf();
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_LSM_MAC);
	int hook = kernel ? btf__find_by_name_kind(kernel, "bpf_lsm_locked_down",
						   BTF_KIND_FUNC) : -1;
	int program = -1, link = -1;

	btf__free(kernel);
	opts.attach_btf_id = (uint32_t)hook;
	if (hook > 0)
		program = bpf_prog_load(BPF_PROG_TYPE_LSM, "deny", "GPL", code,
					sizeof(code) / sizeof(code[0]), &opts);
	if (program >= 0)
		link = bpf_raw_tracepoint_open(NULL, program);
	if (program >= 0)
		close(program);
	return link;
}
