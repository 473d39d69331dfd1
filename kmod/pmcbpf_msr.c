// SPDX-License-Identifier: GPL-2.0
/*
 * Model specific registers for pmcbpfd and its BPF programs.  User space cannot get one register
 * from the kernel without getting all of them: /dev/cpu/N/msr has no list of permitted ones, and
 * BPF cannot read any.  pmcbpf_msr.h defines the requests; this file checks each against the list
 * that the daemon has loaded, and carries it out.
 *
 * Registers are looked up and read with preemption off, on their CPU, in any context, NMI included.
 * Such code is an RCU reader of the list, which is replaced as a whole; there are no locks.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "msr_arch.h"
#include "pmcbpf_msr.h"

#define SLOT_BITS 9
#define SLOTS	  (1 << SLOT_BITS)	/* four slots for an entry: most are found at their hash */

struct allow_list {
	struct rcu_head rcu;
	unsigned int n;
	u8 slot[SLOTS];		/* by hash, then linear probing: index of the entry + 1; 0: free */
	DECLARE_BITMAP(written, PMCBPF_MSR_MAX);	/* entries whose first write was logged */
	struct pmcbpf_msr_entry entry[];
};

/* One register on one CPU, behind a descriptor. */
struct msr_row {
	u32 reg;
	unsigned int cpu;
	int epoch;
	bool revoked;
};

static struct allow_list __rcu *allowed;	/* the daemon's list, or NULL */
static unsigned long msr_opened;
static atomic_t msr_epoch;		/* incremented by open(): rows of earlier opens are dead */

/* The slot of a register, or the free one for it. */
static u8 *allow_slot(struct allow_list *list, u32 reg)
{
	unsigned int slot = hash_32(reg, SLOT_BITS);

	while (list->slot[slot] && list->entry[list->slot[slot] - 1].reg != reg)
		slot = (slot + 1) % SLOTS;
	return &list->slot[slot];
}

/* The entry and its list, valid while preemption is off, or NULL. */
static const struct pmcbpf_msr_entry *allow_find(u32 reg, struct allow_list **in)
{
	struct allow_list *list = rcu_dereference_sched(allowed);
	unsigned int at = list ? *allow_slot(list, reg) : 0;

	*in = list;
	return at ? &list->entry[at - 1] : NULL;
}

/* Replaces the list by `list`, NULL for none: then nothing is allowed. */
static void allow_replace(struct allow_list *list)
{
	struct allow_list *old = unrcu_pointer(xchg(&allowed, RCU_INITIALIZER(list)));

	if (old)
		kfree_rcu(old, rcu);
}

/* Checks a list and fills its hash table. */
static bool allow_index(struct allow_list *list)
{
	for (unsigned int i = 0; i < list->n; i++) {
		const struct pmcbpf_msr_entry *entry = &list->entry[i];

		if (entry->reserved || (i > 0 && entry->reg <= entry[-1].reg))
			return false;
		if (!reg_known(entry->reg) || (entry->write && !REG_WRITABLE))
			return false;
		*allow_slot(list, entry->reg) = i + 1;
	}
	return true;
}

static int allow_load(const struct pmcbpf_msr_list __user *from)
{
	struct pmcbpf_msr_list request;
	struct allow_list *list;
	int err = -EINVAL;

	if (copy_from_user(&request, from, sizeof(request)))
		return -EFAULT;
	if (request.version != PMCBPF_MSR_VERSION)
		return -EPROTO;
	if (request.n > PMCBPF_MSR_MAX)
		return -EINVAL;
	list = kzalloc(struct_size(list, entry, request.n), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	list->n = request.n;
	if (copy_from_user(list->entry, u64_to_user_ptr(request.entries),
			   request.n * sizeof(list->entry[0])))
		err = -EFAULT;
	else if (allow_index(list))
		err = 0;
	if (err)
		kfree(list);
	else
		allow_replace(list);
	return err;
}

/* --- lockdown ---------------------------------------------------------------------------- */

/* Checked with the kernel's credentials, to which only lockdown applies. */
static void lockdown_look(struct work_struct *work)
{
	if (security_locked_down(LOCKDOWN_MSR))
		allow_replace(NULL);
}

static DECLARE_WORK(lockdown_work, lockdown_look);

/*
 * A kernel may be locked down while the device is open.  BPF programs do not check on each read:
 * one refused request stops all of them, and the daemon makes a request every 30 seconds.
 *
 * A security module may also refuse a single task, as a program of the BPF LSM can.  Only that task
 * is refused: the shared list is dropped only if the kernel itself is refused.
 */
static int msr_locked_down(void)
{
	int err = security_locked_down(LOCKDOWN_MSR);

	if (err) {
		schedule_work(&lockdown_work);
		flush_work(&lockdown_work);
	}
	return err;
}

/* --- writes ------------------------------------------------------------------------------ */

/* The treatment of writes from user space, like the parameter of the kernel's msr driver. */
enum { WRITES_ON, WRITES_OFF, WRITES_DEFAULT };
static const char *const writes_text[] = { "on", "off", "default", NULL };
static int writes = WRITES_DEFAULT;

static int writes_set(const char *text, const struct kernel_param *param)
{
	int value = sysfs_match_string(writes_text, text);

	if (value < 0)
		return value;
	WRITE_ONCE(writes, value);
	return 0;
}

static int writes_get(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%s\n", writes_text[READ_ONCE(writes)]);
}

static const struct kernel_param_ops writes_ops = { .set = writes_set, .get = writes_get };
module_param_cb(allow_writes, &writes_ops, NULL, 0644);
MODULE_PARM_DESC(allow_writes, "writes of listed bits: on, off, default (on, and logged once)");

static DEFINE_RAW_SPINLOCK(write_lock);

/* --- registers --------------------------------------------------------------------------- */

/* A register of this CPU; preemption is off. */
static int here_read(u32 reg, u64 *value)
{
	struct allow_list *list;
	const struct pmcbpf_msr_entry *entry = allow_find(reg, &list);
	int err;

	if (!entry || !entry->read)
		return -EPERM;
	err = reg_read(reg, value);
	*value &= entry->read;
	return err;
}

/*
 * Writes a register and returns its old bits.  Interrupts are off, and writes are serialized:
 * neither this CPU nor another writer here changes the register meanwhile.  A register shared by
 * the CPUs of a package can still be changed on another CPU, by the rest of the kernel or by
 * firmware.
 */
static int here_write(u32 reg, u64 *value, bool *first)
{
	struct allow_list *list;
	const struct pmcbpf_msr_entry *entry = allow_find(reg, &list);
	u64 old, new;
	int err;

	if (!entry || !entry->write || (*value & ~entry->write))
		return -EPERM;
	raw_spin_lock(&write_lock);
	err = reg_read(reg, &old);
	if (!err) {
		new = (old & ~entry->write) | *value;
		*value = old & entry->write;
		err = reg_write(reg, new);
	}
	raw_spin_unlock(&write_lock);
	if (!err)
		*first = !test_and_set_bit(entry - list->entry, list->written);
	return err;
}

struct access {
	u32 reg;
	bool write;
	bool first;		/* first write to a register of this list */
	int err;
	u64 value;
};

static void access_here(void *arg)
{
	struct access *a = arg;

	a->err = a->write ? here_write(a->reg, &a->value, &a->first) :
			    here_read(a->reg, &a->value);
}

static int msr_access(bool write, u32 reg, unsigned int cpu, u64 *value)
{
	struct access a = { .reg = reg, .write = write, .value = *value };
	int err = 0;

	if (write && READ_ONCE(writes) == WRITES_OFF)
		return -EPERM;
	if (get_cpu() == cpu && !write)
		access_here(&a);
	else
		err = smp_call_function_single(cpu, access_here, &a, 1);
	put_cpu();
	*value = a.value;
	err = err ?: a.err;
	/* Like the kernel's msr driver: taints the kernel, and logs a write from time to time. */
	if (write && !err)
		add_taint(TAINT_CPU_OUT_OF_SPEC, LOCKDEP_STILL_OK);
	if (a.first && READ_ONCE(writes) == WRITES_DEFAULT)
		pr_warn("register 0x%x of CPU %u was written by %s (pid: %d), not logged again\n",
			reg, cpu, current->comm, current->pid);
	return err;
}

static ssize_t row_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	const struct msr_row *row = file->private_data;
	u64 value = 0;
	int err;

	if (size < sizeof(value))
		return -EINVAL;
	if (READ_ONCE(row->revoked) || row->epoch != atomic_read(&msr_epoch))
		return -ENODEV;
	err = msr_locked_down() ?: msr_access(false, row->reg, row->cpu, &value);
	if (err)
		return err;
	return put_user(value, (u64 __user *)to) ?: (ssize_t)sizeof(value);
}

/* An unprivileged reader must not revoke a row that others hold by the same descriptor. */
static long row_ioctl(struct file *file, unsigned int request, unsigned long arg)
{
	struct msr_row *row = file->private_data;

	if (request != PMCBPF_MSR_IOC_REVOKE)
		return -ENOTTY;
	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	WRITE_ONCE(row->revoked, true);
	return 0;
}

static int row_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static const struct file_operations row_fops = {
	.owner		= THIS_MODULE,
	.read		= row_read,
	.unlocked_ioctl	= row_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.release	= row_release,
};

/* Reads it once, so that an unreadable register gets no row. */
static int row_new(const struct pmcbpf_msr_io *io)
{
	struct msr_row *row;
	u64 value = 0;
	int fd = msr_access(false, io->reg, io->cpu, &value);

	if (fd < 0)
		return fd;
	row = kzalloc(sizeof(*row), GFP_KERNEL);
	if (!row)
		return -ENOMEM;
	row->reg = io->reg;
	row->cpu = io->cpu;
	row->epoch = atomic_read(&msr_epoch);
	fd = anon_inode_getfd("[" PMCBPF_MSR_NAME "]", &row_fops, row, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		kfree(row);
	return fd;
}

static int msr_open(struct inode *inode, struct file *file)
{
	int err;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	err = msr_locked_down();
	if (err)
		return err;
	if (test_and_set_bit(0, &msr_opened))
		return -EBUSY;
	return nonseekable_open(inode, file);
}

static int msr_release(struct inode *inode, struct file *file)
{
	atomic_inc(&msr_epoch);
	allow_replace(NULL);
	clear_bit_unlock(0, &msr_opened);
	return 0;
}

static long msr_ioctl(struct file *file, unsigned int request, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	struct pmcbpf_msr_io io;
	int err = msr_locked_down();

	if (err)
		return err;
	switch (request) {
	case PMCBPF_MSR_IOC_VERSION:
		return put_user(PMCBPF_MSR_VERSION, (u32 __user *)user);
	case PMCBPF_MSR_IOC_LIST:
		return allow_load(user);
	case PMCBPF_MSR_IOC_READ:
	case PMCBPF_MSR_IOC_WRITE:
	case PMCBPF_MSR_IOC_ROW:
		break;
	default:
		return -ENOTTY;
	}
	if (copy_from_user(&io, user, sizeof(io)))
		return -EFAULT;
	if (request == PMCBPF_MSR_IOC_ROW)
		return row_new(&io);
	err = msr_access(request == PMCBPF_MSR_IOC_WRITE, io.reg, io.cpu, &io.value);
	if (!err && copy_to_user(user, &io, sizeof(io)))
		err = -EFAULT;
	return err;
}

static const struct file_operations msr_fops = {
	.owner		= THIS_MODULE,
	.open		= msr_open,
	.release	= msr_release,
	.unlocked_ioctl	= msr_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice msr_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= PMCBPF_MSR_NAME,
	.mode	= 0600,
	.fops	= &msr_fops,
};

#if defined(BTF_KFUNCS_START) || defined(BTF_SET8_START)	/* 6.0 */

#ifndef __bpf_kfunc		/* 6.3 */
#define __bpf_kfunc __used noinline
#endif
#ifndef BTF_KFUNCS_START	/* 6.9 */
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name) BTF_SET8_END(name)
#endif

/*
 * Any program of the tracing types may call this, not only the daemon's: the caller is not known
 * here.  Loading one takes CAP_BPF and CAP_PERFMON, and with the latter the daemon hands out every
 * register of the list as well.  On kernels that let modules check, a right that a container has
 * from a BPF token is not enough: it must hold on the whole machine.
 */
u64 pmcbpf_msr_read(u32 reg);

__bpf_kfunc u64 pmcbpf_msr_read(u32 reg)
{
	u64 value;
	int err;

	preempt_disable_notrace();
	err = here_read(reg, &value);
	preempt_enable_notrace();
	return err ? ~0ULL : value;
}

/*
 * The events of a perf event whose counter is on this CPU; ~0 if it is none, or if its counter was
 * set meanwhile.  The kernel adds a counter's events to `count` whenever it sets the counter, which
 * it does when the counter overflows or gets another event, and keeps the value in `prev_count`:
 *
 *	events = count + (counter - prev_count)
 *
 * An interrupt that does so in between changes `prev_count`, or `idx` if nothing was counted.
 */
static u64 event_count(const struct perf_event *event)
{
	const struct event_words w = event_read(event);
	u64 events;

	if (w.cpu != raw_smp_processor_id())
		return ~0ULL;
	events = counter_since(w.index, w.field, w.since);
	return events != ~0ULL && event_stays(event, w) ? w.count + events : ~0ULL;
}

/*
 * Counters need no list: whoever loads a program that calls this may open perf events on all CPUs,
 * and read the kernel's memory.  The kernel keeps programs on their CPU.
 */
u64 pmcbpf_event_count(u64 event);

__bpf_kfunc u64 pmcbpf_event_count(u64 event)
{
	/* At the kernel's addresses no page fault is served: it ends in event_count(). */
	return kernel_address(event) ? event_count((const struct perf_event *)event) : ~0ULL;
}

BTF_KFUNCS_START(msr_kfuncs)
BTF_ID_FLAGS(func, pmcbpf_msr_read)
BTF_ID_FLAGS(func, pmcbpf_event_count)
BTF_KFUNCS_END(msr_kfuncs)

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
/*
 * Called in the loader's context while a program that calls one of them is loaded.  A kernel that
 * is locked down for confidentiality lets no program read its memory.
 */
static int msr_kfunc_filter(const struct bpf_prog *prog, u32 id)
{
	return perfmon_capable() ? security_locked_down(LOCKDOWN_BPF_READ_KERNEL) : -EACCES;
}
#endif

static const struct btf_kfunc_id_set msr_kfunc_set = {
	.owner	= THIS_MODULE,
	.set	= &msr_kfuncs,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	.filter	= msr_kfunc_filter,
#endif
};

/*
 * Other types of programs that may call them are registered as tracing.  Where modules cannot check
 * each program, a kernel that is locked down for confidentiality has none.
 */
static int msr_kfunc_register(void)
{
	if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0) &&
	    security_locked_down(LOCKDOWN_BPF_READ_KERNEL))
		return 0;
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING, &msr_kfunc_set);
}

#else

static int msr_kfunc_register(void)
{
	return 0;
}

#endif

static int __init msr_init(void)
{
	int err;

	counter_init();
	err = msr_kfunc_register() ?: misc_register(&msr_device);
	if (!err)
		pr_info("version %d\n", PMCBPF_MSR_VERSION);
	return err;
}

/* The device, rows and programs hold references to the module: none is left, and no list. */
static void __exit msr_exit(void)
{
	misc_deregister(&msr_device);
	cancel_work_sync(&lockdown_work);
}

module_init(msr_init);
module_exit(msr_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Allow-listed model specific registers for pmcbpfd");
