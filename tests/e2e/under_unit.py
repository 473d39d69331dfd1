#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Run the program of a systemd unit in the sandbox that the unit describes, where no systemd is process 1.

    under_unit.py UNIT SBINDIR RUN [OPTION]...

SBINDIR stands for the unit's @SBINDIR@, RUN for /run in its RuntimeDirectory=; options are added to those of
ExecStart=.  What the unit says is read from the unit and applied directive by directive, as systemd.exec(5) describes
it; a directive or a value that is not known here ends the run, so that the tests always prove the unit itself.  The
program replaces this process, and keeps its descriptors 0 to 2.

Not applied are the service manager's own part (restarts, reloads, the watchdog) and amounts that need a control group
of the service (TasksMax=, MemoryMax=).  DevicePolicy= is a /dev without the devices that are not allowed.
"""
import ctypes
import os
import re
import resource
import select
import shlex
import signal
import socket
import stat
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)

# For the service manager only, or limits of a control group.
NOT_SANDBOX = {"Type", "NotifyAccess", "ExecReload", "Restart", "WatchdogSec", "RuntimeDirectoryPreserve", "TasksMax",
               "MemoryMax"}
# IPAddressDeny= is a control group's filter: a network namespace of our own has nothing to filter.
NETWORK_ONLY = {"IPAddressDeny"}
LISTS = {"ExecReload", "CapabilityBoundingSet", "SystemCallFilter", "DeviceAllow", "InaccessiblePaths", "ReadOnlyPaths",
         "ReadWritePaths", "RestrictAddressFamilies"}

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
FLAGS = {"ro": MS_RDONLY, "nosuid": MS_NOSUID, "nodev": MS_NODEV, "noexec": MS_NOEXEC, "noatime": 1024,
         "nodiratime": 2048, "relatime": 1 << 21}
CLONE = {"cgroup": 0x02000000, "ipc": 0x08000000, "net": 0x40000000, "mnt": 0x00020000, "pid": 0x20000000,
         "user": 0x10000000, "uts": 0x04000000, "time": 0x00000080}


def die(text):
    sys.exit("under_unit: " + text)


def check(result, what):
    if result < 0:
        die("%s: %s" % (what, os.strerror(ctypes.get_errno() or -result)))


def read_unit(path):
    """Section [Service]: lists are joined, an empty value empties them; other directives stand once."""
    unit, section = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if not line or line[0] in "#;":
                continue
            if line.endswith("\\"):
                die("continued lines are not known here")
            if line[0] == "[":
                section = line
                continue
            name, _, value = line.partition("=")
            if section != "[Service]":
                continue
            if name in LISTS:
                unit[name] = unit.get(name, []) + value.split() if value else []
            elif name in unit:
                die("%s= is there twice" % name)
            else:
                unit[name] = value
    return unit


def boolean(value):
    if value not in ("yes", "no", "true", "false"):
        die("%s is neither yes nor no" % value)
    return value in ("yes", "true")


# --- mounts -----------------------------------------------------------------------------------------------------------

def mount(source, target, fstype=None, flags=0, data=None):
    encoded = [None if x is None else os.fsencode(x) for x in (source, target, fstype, data)]
    check(libc.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]), "mount %s" % target)


def below(path, top):
    return path == top or path.startswith(top.rstrip("/") + "/")


def mounts():
    """Mount points and their flags, as they are now; not those that a later mount has covered."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            flags = sum(FLAGS.get(option, 0) for option in words[5].split(","))
            path = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), words[4])
            found = [one for one in found if not below(one[0], path)] + [(path, flags)]
    return found


def bind_itself(path):
    mount(path, path, flags=MS_BIND | MS_REC)


def read_only(top, but=()):
    """All mounts below, as systemd does it: a file system of its own keeps its other flags."""
    for path, flags in mounts():
        if below(path, top) and not any(below(path, x) for x in but):
            mount(None, path, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | flags)


def without_suid():
    """With NoNewPrivileges= systemd mounts everything so."""
    for path, flags in mounts():
        mount(None, path, flags=MS_REMOUNT | MS_BIND | MS_NOSUID | flags)


def inaccessible(path, nodes):
    mode = os.lstat(path).st_mode
    node = {stat.S_IFDIR: "dir", stat.S_IFREG: "reg", stat.S_IFCHR: "chr"}[stat.S_IFMT(mode)]
    mount(os.path.join(nodes, node), path, flags=MS_BIND)


def paths(unit, name):
    """The paths of a list; those with "-" may be absent."""
    for word in unit.pop(name, []):
        path = os.path.realpath(word.lstrip("-"))
        if os.path.exists(path):
            yield path
        elif not word.startswith("-"):
            die("%s: there is no %s" % (name, path))


def make_nodes():
    """What stands in for paths that are hidden; the mount itself is gone with the name space."""
    nodes = "/dev/shm" if os.path.isdir("/dev/shm") else "/mnt"
    mount("tmpfs", nodes, "tmpfs", 0, "mode=755")
    os.mkdir(nodes + "/dir", 0)
    os.mknod(nodes + "/reg", stat.S_IFREG)
    os.mknod(nodes + "/chr", stat.S_IFCHR, os.makedev(0, 0))
    return nodes


def device_policy(unit):
    """What a /dev with "closed" and the devices that are allowed besides does not show."""
    policy, allowed = unit.pop("DevicePolicy", "auto"), unit.pop("DeviceAllow", [])
    if policy != "closed":
        die("DevicePolicy=%s is not known here" % policy)
    keep = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue", "hugepages", "log"}
    for word in allowed:
        if word.startswith("/dev/"):
            keep.add(word[5:])
        elif word not in ("r", "rw", "w"):
            die("DeviceAllow=%s is not known here" % word)
    hidden = []
    for entry in os.scandir("/dev"):
        if entry.name in keep or entry.is_symlink():
            continue
        if entry.is_dir() or stat.S_ISCHR(os.lstat(entry.path).st_mode) or stat.S_ISBLK(os.lstat(entry.path).st_mode):
            hidden.append(entry.path)
    return hidden


def hide_device(path, nodes):
    mount(os.path.join(nodes, "dir" if os.path.isdir(path) else "chr"), path, flags=MS_BIND)


def mount_namespace(unit, runtime):
    """In an order in which a later step does not undo an earlier one."""
    hidden = list(paths(unit, "InaccessiblePaths"))
    only_read = list(paths(unit, "ReadOnlyPaths"))
    writable = [runtime] + list(paths(unit, "ReadWritePaths"))
    devices = device_policy(unit)
    flags = CLONE["mnt"]
    unit.pop("PrivateMounts", None)  # the namespace below is private, with or without it
    if boolean(unit.pop("PrivateNetwork", "no")):
        flags |= CLONE["net"]
    elif any(name in unit for name in NETWORK_ONLY):
        die("IPAddressDeny= without PrivateNetwork= is not known here")
    if boolean(unit.get("ProtectHostname", "no")):
        flags |= CLONE["uts"]
    for name in NETWORK_ONLY:
        unit.pop(name, None)
    check(libc.unshare(flags), "unshare")
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    if boolean(unit.get("ProtectKernelModules", "no")):
        hidden += {os.path.realpath(path) for path in ("/lib/modules", "/usr/lib/modules") if os.path.isdir(path)}
    if boolean(unit.pop("ProtectHome", "no")):
        hidden += [path for path in ("/home", "/root", "/run/user") if os.path.isdir(path)]
    if boolean(unit.pop("ProtectControlGroups", "no")):
        only_read.append("/sys/fs/cgroup")
    temporary = ["/tmp", "/var/tmp"] if boolean(unit.pop("PrivateTmp", "no")) else []
    system = unit.pop("ProtectSystem", "no")
    if system != "strict":
        die("ProtectSystem=%s is not known here" % system)
    nodes = make_nodes()
    for path in writable:
        bind_itself(path)
    for path in temporary:
        mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    for path in hidden:
        inaccessible(path, nodes)
    for path in devices:
        hide_device(path, nodes)
    for path in only_read:
        bind_itself(path)
    read_only("/", ["/dev", "/proc", "/sys"] + writable + temporary)
    for path in only_read:
        read_only(path)
    if boolean(unit.get("NoNewPrivileges", "no")):
        without_suid()
    libc.umount2(os.fsencode(nodes), 2)


# --- system calls -----------------------------------------------------------------------------------------------------

class Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


NE, EQ, GT, MASKED = 1, 4, 6, 7
ALLOW, KILL = 0x7fff0000, 0x80000000
seccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
seccomp.seccomp_init.restype = ctypes.c_void_p


def refused(error):
    return 0x00050000 | error


class Filter:
    """One filter of several: the strictest of them decides.  Calls of another architecture end the process."""

    def __init__(self, default=ALLOW):
        self.context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(default)))
        self.default = default

    def add(self, name, action, *comparisons):
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number == -1 or action == self.default:
            return
        array = (Comparison * max(len(comparisons), 1))(*[Comparison(*c) for c in comparisons])
        result = seccomp.seccomp_rule_add_array(self.context, ctypes.c_uint32(action), number, len(comparisons), array)
        # -EDOM: this architecture has no such call.
        if result not in (0, -33):
            check(result, "seccomp: " + name)

    def load(self):
        check(seccomp.seccomp_load(self.context), "seccomp")


def group(name):
    """The names in a group, as the installed systemd has it."""
    text = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter", name], check=True, capture_output=True,
                          text=True).stdout
    for line in text.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            yield from group(word)
        elif word and word[0] != "#":
            yield word


def refuse_group(name):
    filters = Filter()
    for call in group(name):
        filters.add(call, refused(1))
    return filters


def allow_list(unit):
    error = unit.pop("SystemCallErrorNumber", None)
    if error != "EPERM":
        die("SystemCallErrorNumber=%s is not known here" % error)
    allowed = set(group("@default"))
    for word in unit.pop("SystemCallFilter"):
        if word[0] == "~":
            die("SystemCallFilter=%s is not known here" % word)
        allowed.update(group(word) if word[0] == "@" else [word])
    # systemd answers calls that it does not know with ENOSYS, as a kernel without them does.
    filters = Filter(refused(38))
    for call in set(group("@known")) | allowed:
        filters.add(call, ALLOW if call in allowed else refused(1))
    return filters


def restrict_namespaces(value):
    filters, kept = Filter(), value.split()
    for word in kept:
        if word not in CLONE:
            die("RestrictNamespaces=%s is not known here" % value)
    # Its flags are in memory, which filters do not see.
    filters.add("clone3", refused(38))
    filters.add("setns", refused(1), (1, EQ, 0, 0))
    for name, flag in CLONE.items():
        if name in kept:
            continue
        filters.add("unshare", refused(1), (0, MASKED, flag, flag))
        filters.add("clone", refused(1), (0, MASKED, flag, flag))
        filters.add("setns", refused(1), (1, MASKED, flag, flag))
    return filters


def restrict_families(words):
    if words != ["AF_UNIX"]:
        die("RestrictAddressFamilies=%s is not known here" % " ".join(words))
    filters = Filter()
    filters.add("socket", refused(97), (0, NE, socket.AF_UNIX, 0))
    return filters


def restrict_suid():
    filters = Filter()
    for bit in (stat.S_ISUID, stat.S_ISGID):
        for name, arg in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("mkdir", 1), ("mkdirat", 2), ("mknod", 1),
                          ("mknodat", 2), ("creat", 1)):
            filters.add(name, refused(1), (arg, MASKED, bit, bit))
        for name, flags, arg in (("open", 1, 2), ("openat", 2, 3)):
            filters.add(name, refused(1), (flags, MASKED, os.O_CREAT, os.O_CREAT), (arg, MASKED, bit, bit))
    filters.add("openat2", refused(38))
    return filters


def deny_write_execute():
    filters = Filter()
    filters.add("mmap", refused(1), (2, MASKED, 6, 6))
    filters.add("mprotect", refused(1), (2, MASKED, 4, 4))
    filters.add("pkey_mprotect", refused(1), (2, MASKED, 4, 4))
    filters.add("shmat", refused(1), (2, MASKED, 0o100000, 0o100000))
    return filters


def lock_personality():
    filters = Filter()
    now = libc.personality(0xffffffff)
    filters.add("personality", refused(1), (0, NE, now, 0))
    return filters


def hostname():
    filters = Filter()
    filters.add("sethostname", refused(1))
    filters.add("setdomainname", refused(1))
    return filters


def system_calls(unit):
    """The filters; the list of allowed calls comes last, as it does in systemd."""
    filters = []
    if unit.pop("SystemCallArchitectures", None) != "native":
        die("SystemCallArchitectures= is not native")
    for name, make in (("RestrictSUIDSGID", restrict_suid), ("MemoryDenyWriteExecute", deny_write_execute),
                       ("LockPersonality", lock_personality), ("ProtectHostname", hostname),
                       ("ProtectKernelModules", lambda: refuse_group("@module")),
                       ("ProtectClock", lambda: refuse_group("@clock"))):
        if boolean(unit.pop(name, "no")):
            filters.append(make())
    filters.append(restrict_namespaces(unit.pop("RestrictNamespaces")))
    filters.append(restrict_families(unit.pop("RestrictAddressFamilies")))
    return filters + [allow_list(unit)]


# --- capabilities, limits, the manager --------------------------------------------------------------------------------

def capabilities(unit):
    """Those that are kept, by number.  The other protections take some away, too."""
    numbers = {}
    with open("/usr/include/linux/capability.h", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 3 and words[0] == "#define" and words[1].startswith("CAP_") and words[2].isdigit():
                numbers[words[1]] = int(words[2])
    kept = set()
    for word in unit.pop("CapabilityBoundingSet"):
        if word not in numbers:
            die("CapabilityBoundingSet=%s is not known here" % word)
        kept.add(numbers[word])
    if boolean(unit.get("ProtectKernelModules", "no")):
        kept.discard(numbers["CAP_SYS_MODULE"])
    if boolean(unit.get("ProtectClock", "no")):
        kept -= {numbers["CAP_SYS_TIME"], numbers["CAP_WAKE_ALARM"]}
    return kept


def bound_capabilities(kept):
    with open("/proc/sys/kernel/cap_last_cap", encoding="utf-8") as file:
        last = int(file.read())
    for number in range(last + 1):
        # If it is already gone, as in a container, there is nothing to drop.
        if number not in kept and libc.prctl(23, number, 0, 0, 0) == 1:
            check(libc.prctl(24, number, 0, 0, 0), "PR_CAPBSET_DROP")
    check(libc.prctl(47, 4, 0, 0, 0), "PR_CAP_AMBIENT_CLEAR_ALL")


def limits(unit):
    for name in [name for name in unit if name.startswith("Limit")]:
        values = unit.pop(name).split(":")
        soft, hard = (resource.RLIM_INFINITY if v == "infinity" else int(v) for v in (values[0], values[-1]))
        which = getattr(resource, "RLIMIT_" + name[5:], None)
        if which is None:
            die("%s= is not known here" % name)
        try:
            resource.setrlimit(which, (soft, hard))
        except ValueError:
            # If the limit cannot be raised, the highest possible one, as systemd does.
            most = resource.getrlimit(which)[1]
            resource.setrlimit(which, (most if soft == resource.RLIM_INFINITY else min(soft, most), most))


def runtime_directory(unit, run):
    name, mode = unit.pop("RuntimeDirectory"), int(unit.pop("RuntimeDirectoryMode", "0755"), 8)
    path = os.path.join(run, name)
    os.makedirs(path, exist_ok=True)
    os.chmod(path, mode)
    os.environ["RUNTIME_DIRECTORY"] = path
    return path


def play_manager(run):
    """A child keeps what the program reports in RUN/notified, and ends with it."""
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = os.path.join(run, "notify")
    # The socket of an earlier program.
    if os.path.exists(path):
        os.unlink(path)
    receiver.bind(path)
    os.chmod(path, 0o777)
    os.environ["NOTIFY_SOCKET"] = path
    program = os.pidfd_open(os.getpid())
    if os.fork():
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    with open(os.path.join(run, "notified"), "ab", buffering=0) as out:
        while True:
            ready = select.select([receiver, program], [], [])[0]
            if receiver in ready:
                out.write(receiver.recv(4096) + b"\n")
            else:
                os._exit(0)


def open_program(path, run):
    """Where it can be executed although the unit may show nothing of the build: its name is kept."""
    link = os.path.join(run, os.path.basename(path))
    if os.path.islink(link):
        os.unlink(link)
    os.symlink("/proc/self/fd/%d" % os.open(path, os.O_RDONLY), link)
    return link


def main(path, sbindir, run, *options):
    unit = read_unit(path)
    for name in NOT_SANDBOX:
        unit.pop(name, None)
    command = shlex.split(unit.pop("ExecStart").replace("@SBINDIR@", sbindir)) + list(options)
    program = open_program(command[0], run)
    play_manager(run)
    runtime = runtime_directory(unit, run)
    kept = capabilities(unit)
    mask = int(unit.pop("UMask", "0022"), 8)
    if unit.pop("KeyringMode", "inherit") == "private":
        # KEYCTL_JOIN_SESSION_KEYRING; 250 and 219 are keyctl(2).  A kernel may have no keys.
        libc.syscall(250 if os.uname().machine == "x86_64" else 219, 1, None)
    limits(unit)
    # Some directives are both: mounts and system calls.
    rest = dict(unit)
    filters = system_calls(rest)
    new_privileges = not boolean(rest.pop("NoNewPrivileges", "no"))
    mount_namespace(unit, runtime)
    left = set(unit) & set(rest)
    if left:
        die("%s: not known here; tests/e2e/under_unit.py must learn it" % ", ".join(sorted(left)))
    os.umask(mask)
    if not new_privileges:
        check(libc.prctl(38, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS")
    bound_capabilities(kept)
    for one in filters:
        one.load()
    os.execve(program, command, os.environ)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: under_unit.py UNIT SBINDIR RUN [OPTION]...")
    main(*sys.argv[1:])
