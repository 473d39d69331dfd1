# SPDX-License-Identifier: BSD-2-Clause
# bpf/: programs are compiled one object per concern and linked into one, whose skeleton only
# loader/engine.c includes.
BPF_SRCS := bpf/switch.bpf.c bpf/life.bpf.c bpf/task.bpf.c bpf/hook.bpf.c
BPF_OBJS := $(BPF_SRCS:%.bpf.c=$(O)/%.bpf.o)
BPF_SKEL := $(O)/bpf/pmcbpf.skel.h
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Wno-unused-parameter -Ivmlinux -Ibpf

$(O)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h) vmlinux/vmlinux.h
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_$(patsubst x86_64,x86,$(ARCH)) -c -o $@ $<

$(O)/bpf/pmcbpf.bpf.o: $(BPF_OBJS)
	$(call say,LINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(BPF_SKEL): $(O)/bpf/pmcbpf.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name pmcbpf >$@.tmp && mv $@.tmp $@
