# SPDX-License-Identifier: BSD-2-Clause
# bpf/: programs are compiled one object per concern and linked into one, whose skeleton only
# loader/kernel includes; trace points are an object of their own, for loader/kernel/ktrload.c.  Lines of BTF name files
# from the tree on, so that objects are equal wherever they are built.
BPF_SRCS := bpf/count/switch.bpf.c bpf/count/life.bpf.c bpf/count/task.bpf.c bpf/count/hook.bpf.c \
	bpf/count/cpu.bpf.c bpf/count/thread.bpf.c bpf/count/unmap.bpf.c bpf/count/tracepoint.bpf.c \
	bpf/count/probe.bpf.c bpf/count/gauge.bpf.c bpf/count/offcpu.bpf.c bpf/count/cgroup.bpf.c \
	bpf/count/cover.bpf.c bpf/count/migrate.bpf.c bpf/count/counter.bpf.c \
	bpf/mapping/mapping.bpf.c bpf/log/symbols.bpf.c bpf/policy/proof.bpf.c bpf/policy/peer.bpf.c
BPF_OBJS := $(BPF_SRCS:%.bpf.c=$(O)/%.bpf.o)
BPF_SKEL := $(O)/bpf/pmcbpf.skel.h $(O)/bpf/poke.skel.h $(O)/bpf/slot.skel.h $(O)/bpf/hits.skel.h $(O)/bpf/waker.skel.h \
	$(O)/bpf/sample.skel.h $(O)/bpf/ktrace.skel.h
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Wno-unused-parameter -I. -Ivmlinux \
	'-ffile-prefix-map=$(CURDIR)=.'

$(O)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*/*.h) lib/include/sys/ktr_region.h \
		lib/include/sys/ktr_class.h vmlinux/vmlinux.h
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_$(patsubst x86_64,x86,$(ARCH)) -c -o $@ $<

$(O)/bpf/pmcbpf.bpf.o: $(BPF_OBJS)
	$(call say,LINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(O)/bpf/sample.bpf.o: $(O)/bpf/log/sample.bpf.o $(O)/bpf/log/offcpu_sample.bpf.o \
		$(O)/bpf/count/offcpu_open.bpf.o
	$(call say,LINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

# Linking strips the debugging information.
$(O)/bpf/ktrace.bpf.o: $(O)/bpf/ktr/ktr.bpf.o
	$(call say,LINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $<

# pmcbpf: all programs loaded once; poke: the target of flush_poked(); slot: the program of one
# tracepoint; hits: the one that samples it; waker: the one that notes wakers; sample: the programs of
# overflows and of waits; ktrace: trace points.
$(O)/bpf/pmcbpf.skel.h: $(O)/bpf/pmcbpf.bpf.o
$(O)/bpf/poke.skel.h: $(O)/bpf/count/poke.bpf.o
$(O)/bpf/slot.skel.h: $(O)/bpf/count/slot.bpf.o
$(O)/bpf/hits.skel.h: $(O)/bpf/count/hits.bpf.o
$(O)/bpf/waker.skel.h: $(O)/bpf/count/waker.bpf.o
$(O)/bpf/sample.skel.h: $(O)/bpf/sample.bpf.o
$(O)/bpf/ktrace.skel.h: $(O)/bpf/ktrace.bpf.o
$(BPF_SKEL): $(O)/bpf/%.skel.h:
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(if $(filter slot hits waker,$*),$*_bpf,$*) >$@.tmp && mv $@.tmp $@
