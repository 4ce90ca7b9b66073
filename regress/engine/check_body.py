"""
Is this what may be asked of the Engine?

A second reading of the rules, by other means than the daemon's: it knows the
manual's words and nothing of how a body is made.  Whatever it does not know
is refused.

    check_body.py bodies [FILE]    a line each: {"name": of the container,
                                   "body": its text, "asked": {...}}
    check_body.py records FILE ... what record.py has written
    check_body.py forged FILE      a good body: each forgery of it must fail

"asked" may have id, n, owner, op, instance, image, uid, gid, memory, mcpus,
pids, readonly, tmp, tmpfs (0: the workspace is not in memory), env, mnt, sock,
guest, low, high, root (root may be asked for), mounts (where the host has those
of clients' directories), ro and rw (where they are inside); what it has is
compared.
"""

import copy
import fileinput
import functools
import json
import re
import sys
import urllib.parse

HEX32 = re.compile(r"[0-9a-f]{32}")
HEX64 = re.compile(r"[0-9a-f]{64}")
IMAGE = re.compile(r"sha256:[0-9a-f]{64}")
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
NUMBER = re.compile(r"0|[1-9][0-9]{0,19}")
NAME = re.compile(r"sbx-([0-9a-f]{8})-([1-9][0-9]{0,19})")
PLACE = re.compile(r"(/[A-Za-z0-9._+@-]+)+")
PATH = re.compile(r"(/\.?[A-Za-z0-9][A-Za-z0-9._-]*)+")
TMPFS = re.compile(r"size=([1-9][0-9]*),uid=([0-9]+),gid=([0-9]+),"
                   r"(mode=700,)?exec,nosuid,nodev")

MEMORY_MIN = 6 << 20
MEMORY_MAX = 1 << 50
PIDS_MIN = 4
PIDS_MAX = 4194304
NANO_MAX = 1024 * 10**9

# Hidden or not to be written in every container, whatever else is.
MASKED = {
    "/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore",
    "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
    "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
    "/sys/devices/virtual/powercap",
}
READONLY = {
    "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
}

# What no sandbox may call, whatever the arguments.
FORBIDDEN = """
    acct add_key bpf chroot clock_adjtime clock_settime create_module
    delete_module finit_module fsconfig fsmount fsopen fspick init_module
    io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp
    kexec_file_load kexec_load keyctl lookup_dcookie mount mount_setattr
    move_mount name_to_handle_at nfsservctl open_by_handle_at open_tree
    perf_event_open pidfd_getfd pivot_root process_vm_readv process_vm_writev
    ptrace quotactl quotactl_fd reboot request_key setdomainname setns
    sethostname settimeofday swapoff swapon syslog umount umount2 unshare
    userfaultfd vhangup clone3
""".split()
# And what only some arguments of are harmless.
WITH_ARGS = ("clone", "socket", "personality")
FAMILIES = (1, 2, 10, 16)       # local, both Internets, netlink
NAMESPACES = 0x7e020000         # new ones of any kind


class Bad(Exception):
    pass


def need(ok, what):
    if not ok:
        raise Bad(what)


def pairs(items):
    d = {}
    for k, v in items:
        need(k not in d, "the key %r twice" % k)
        d[k] = v
    return d


def no_number(s):
    raise Bad("the number %s" % s)


def load(text):
    if isinstance(text, bytes):
        text = text.decode("utf-8", "strict")
    return json.loads(text, object_pairs_hook=pairs, parse_float=no_number,
                      parse_constant=no_number)


def keys(o, must, where):
    need(type(o) is dict, "%s: no object" % where)
    for k in o:
        need(k in must, "%s: the key %r" % (where, k))
    for k in must:
        need(k in o, "%s: no %s" % (where, k))


def same(have, want, what):
    # True == 1 in this language, and not in that one.
    need(type(have) is type(want) and have == want,
         "%s: %r" % (what, have))


def whole(v, low, high, what):
    need(type(v) is int and low <= v <= high, "%s: %r" % (what, v))


def text(v, pattern, what):
    need(type(v) is str and pattern.fullmatch(v), "%s: %r" % (what, v))
    return v


def asked(a, key, have):
    if key in a:
        same(have, a[key], "%s, not as asked (%r)" % (key, a[key]))


def path(v, what):
    text(v, PATH, what)
    need(".." not in v.split("/"), "%s: %r" % (what, v))
    return v


@functools.lru_cache(maxsize=64)
def seccomp(text):
    profile = load(text)
    keys(profile, ("defaultAction", "architectures", "syscalls"), "seccomp")
    same(profile["defaultAction"], "SCMP_ACT_ERRNO", "seccomp default")
    need(len(profile["architectures"]) > 0, "seccomp: no architecture")
    for rule in profile["syscalls"]:
        need(set(rule) <= {"names", "action", "args", "errnoRet"},
             "seccomp: the keys of a rule")
        need(rule["action"] in ("SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"),
             "seccomp: %r" % rule["action"])
        if rule["action"] != "SCMP_ACT_ALLOW":
            continue
        for name in rule["names"]:
            need(name not in FORBIDDEN, "seccomp allows %s" % name)
            need(name not in WITH_ARGS or len(rule.get("args", [])) == 1,
                 "seccomp allows every %s" % name)
        if "socket" in rule["names"]:
            a = rule["args"][0]
            need(a["index"] == 0 and a["op"] == "SCMP_CMP_EQ" and
                 a["value"] in FAMILIES, "seccomp: socket %r" % a)
        if "clone" in rule["names"]:
            a = rule["args"][0]
            need(a["op"] == "SCMP_CMP_MASKED_EQ" and a["valueTwo"] == 0 and
                 a["value"] & NAMESPACES == NAMESPACES,
                 "seccomp: clone %r" % a)


def security(opts):
    need(type(opts) is list and len(opts) == 2 and
         all(type(o) is str for o in opts), "SecurityOpt: %d" % len(opts))
    need(opts.count("no-new-privileges") +
         opts.count("no-new-privileges:true") == 1, "no-new-privileges")
    given = [o for o in opts if o.startswith("seccomp=")]
    need(len(given) == 1, "seccomp")
    seccomp(given[0][len("seccomp="):])


OWN = ("/.sandboxd", "/dev", "/proc", "/sys", "/tmp", "/workspace")


def meet(a, b):
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def clients(list_, n, uid, a, state):
    """Its client's directories, behind all that is the daemon's."""
    need(len(list_) <= 16 and (not list_ or uid != "0"), "Mounts")
    seen, had = list(OWN), {True: [], False: []}
    for i, m in enumerate(list_):
        ro = type(m) is dict and "ReadOnly" in m
        keys(m, ("Type", "Source", "Target", "BindOptions") +
             (("ReadOnly",) if ro else ()), "Mounts")
        same(m["Type"], "bind", "Mounts.Type")
        same(m["Source"], "%s/%s/%d" % (
            a.get("mounts", state + "/mounts"), n, i), "Mounts.Source")
        same(m["BindOptions"],
             {"Propagation": "rprivate", "NonRecursive": True},
             "BindOptions of %s" % m["Target"])
        same(m["BindOptions"]["NonRecursive"], True, "NonRecursive")
        if ro:
            same(m["ReadOnly"], True, "ReadOnly of %s" % m["Target"])
            need(not had[False], "read-only behind writable")
        at = text(m["Target"], PLACE, "Mounts.Target")
        need(len(at) < 256 and not {".", ".."} & set(at.split("/")) and
             not any(meet(at, s) for s in seen), "Mounts.Target: %r" % at)
        seen.append(at)
        had[ro].append(at)
    asked(a, "ro", had[True])
    asked(a, "rw", had[False])


def mounts(list_, n, owner, uid, a, memory):
    targets = ("/.sandboxd/guest", "/.sandboxd/run")
    if not memory:
        targets += ("/workspace",)
    need(type(list_) is list and len(list_) >= len(targets), "Mounts")
    src = {}
    for m in list_[:len(targets)]:
        ro = type(m) is dict and m.get("Target") != "/workspace"
        keys(m, ("Type", "Source", "Target", "BindOptions") +
             (("ReadOnly",) if ro else ()), "Mounts")
        same(m["Type"], "bind", "Mounts.Type")
        need(m["Target"] in targets and m["Target"] not in src,
             "Mounts.Target: %r" % m["Target"])
        src[m["Target"]] = path(m["Source"], "Mounts.Source")
        same(m["BindOptions"],
             {"Propagation": "rprivate", "NonRecursive": True},
             "BindOptions of %s" % m["Target"])
        same(m["BindOptions"]["NonRecursive"], True, "NonRecursive")
        if ro:
            same(m["ReadOnly"], True, "ReadOnly of %s" % m["Target"])
    # One directory has them all, but for a guest that the caller names.
    guest, run = src["/.sandboxd/guest"], src["/.sandboxd/run"]
    tail = "/sock/%s/%s" % (owner, n)
    need(run.endswith(tail), "the guest's socket: %r" % run)
    state = run[:-len(tail)]
    if "sock" in a:
        same(run, "%s/%s/%s" % (a["sock"], owner, n), "the guest's socket")
    if state.endswith("/runner"):
        state = state[:-len("/runner")]
    if not memory:
        same(src["/workspace"], a.get("mnt", state + "/mnt") + "/" + n,
             "the workspace")
    if "guest" in a:
        same(guest, a["guest"], "the guest")
    else:
        need(guest.rpartition("/")[2] == "sandbox-guest" or
             (guest.startswith(state + "/guest/") and
              HEX64.fullmatch(guest[len(state + "/guest/"):])),
             "the guest: %r" % guest)
    clients(list_[len(targets):], n, uid, a, state)
    if "under" in a:
        for s in src.values():
            need(s.startswith(a["under"] + "/"), "outside: %r" % s)


CONSTANT = {
    "CapDrop": ["ALL"], "NetworkMode": "none", "IpcMode": "private",
    "CgroupnsMode": "private", "ShmSize": 64 << 20, "Init": False,
    "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
    "LogConfig": {"Type": "none", "Config": {}},
}


LIMITS = ("Memory", "MemorySwap", "NanoCpus", "PidsLimit")


def limits(h):
    whole(h["Memory"], MEMORY_MIN, MEMORY_MAX, "Memory")
    same(h["MemorySwap"], h["Memory"], "MemorySwap")
    whole(h["NanoCpus"], 10**7, NANO_MAX, "NanoCpus")
    whole(h["PidsLimit"], PIDS_MIN, PIDS_MAX, "PidsLimit")


def judge_update(body):
    """Limits alone, and all of them: what is left out might be none."""
    b = load(body)
    keys(b, LIMITS, "the body")
    limits(b)


def host(h, n, owner, uid, gid, a):
    keys(h, tuple(CONSTANT) + LIMITS + (
        "ReadonlyRootfs", "Mounts", "Tmpfs", "MaskedPaths", "ReadonlyPaths",
        "SecurityOpt"), "HostConfig")
    for k, v in CONSTANT.items():
        same(h[k], v, k)
    same(h["RestartPolicy"]["MaximumRetryCount"], 0, "MaximumRetryCount")
    limits(h)
    asked(a, "memory", h["Memory"])
    asked(a, "pids", h["PidsLimit"])
    if "mcpus" in a:
        same(h["NanoCpus"], a["mcpus"] * 10**6, "NanoCpus")
    need(type(h["ReadonlyRootfs"]) is bool, "ReadonlyRootfs")
    asked(a, "readonly", h["ReadonlyRootfs"])
    for k, least in (("MaskedPaths", MASKED), ("ReadonlyPaths", READONLY)):
        need(type(h[k]) is list and len(set(h[k])) == len(h[k]) and
             least <= set(h[k]), k)
        for p in h[k]:
            path(p, k)
    # What is in memory: with the workspace nothing is left on the disk.
    memory = "/workspace" in h["Tmpfs"]
    keys(h["Tmpfs"], ("/tmp", "/workspace") if memory else ("/tmp",), "Tmpfs")
    need(h["ReadonlyRootfs"] or not memory, "Tmpfs and a writable root")
    sizes = {"/workspace": 0}
    for at, options in h["Tmpfs"].items():
        t = TMPFS.fullmatch(options)
        need(t and int(t[1]) <= h["Memory"] and t[2] == uid and t[3] == gid
             and bool(t[4]) == (at == "/workspace"), "Tmpfs: %r" % options)
        sizes[at] = int(t[1])
    asked(a, "tmp", sizes["/tmp"])
    asked(a, "tmpfs", sizes["/workspace"])
    security(h["SecurityOpt"])
    mounts(h["Mounts"], n, owner, uid, a, memory)


def environment(env, a):
    need(type(env) is list and all(type(e) is str for e in env), "Env")
    for e in env:
        k, eq, _ = e.partition("=")
        need(k and eq and "\0" not in e, "Env: %r" % e)
        # The test build's way to break the guest, which no client has.
        need(not k.startswith("SANDBOXD_") or k == "SANDBOXD_FAULT" and
             a.get("faults"), "Env: %r" % e)
    asked(a, "env", env)


def judge(name, body, a):
    """Raises what is bad about it."""
    m = NAME.fullmatch(name)
    need(m, "the name %r" % name)
    b = load(body)
    keys(b, ("Image", "Hostname", "User", "Entrypoint", "WorkingDir", "Env",
             "Healthcheck", "Labels", "HostConfig"), "the body")
    asked(a, "image", text(b["Image"], IMAGE, "Image"))
    same(b["Entrypoint"], ["/.sandboxd/guest"], "Entrypoint")
    same(b["WorkingDir"], "/workspace", "WorkingDir")
    same(b["Healthcheck"], {"Test": ["NONE"]}, "Healthcheck")
    labels = b["Labels"]
    keys(labels, ("sandboxd.instance", "sandboxd.id", "sandboxd.owner",
                  "sandboxd.op"), "Labels")
    text(labels["sandboxd.instance"], HEX32, "sandboxd.instance")
    text(labels["sandboxd.op"], HEX32, "sandboxd.op")
    text(labels["sandboxd.id"], ID, "sandboxd.id")
    owner = text(labels["sandboxd.owner"], NUMBER, "sandboxd.owner")
    need(labels["sandboxd.instance"].startswith(m[1]),
         "the name of another instance")
    same(b["Hostname"], labels["sandboxd.id"][:63], "Hostname")
    for k in ("instance", "op", "id"):
        asked(a, k, labels["sandboxd." + k])
    asked(a, "owner", int(owner))
    asked(a, "n", int(m[2]))
    u = re.fullmatch(r"([0-9]+):([0-9]+)", text(b["User"],
                     re.compile(r"(%s):(%s)" % (NUMBER.pattern,
                                                NUMBER.pattern)), "User"))
    uid, gid = int(u[1]), int(u[2])
    low, high = a.get("low", 10000), a.get("high", 2**32 - 3)
    need(low <= uid <= high and low <= gid <= high or
         uid == gid == 0 and a.get("root"), "User: %s" % b["User"])
    asked(a, "uid", uid)
    asked(a, "gid", gid)
    environment(b["Env"], a)
    host(b["HostConfig"], m[2], owner, u[1], u[2], a)


# Every request that may be made, and no other.
WHOSE = r"(?:[0-9a-f]{64}|sbx-[0-9a-f]{8}-[1-9][0-9]*)"
API = r"/v1\.[0-9]{2}"
IMG = r"[A-Za-z0-9][A-Za-z0-9._-]*(?:[/:@][A-Za-z0-9][A-Za-z0-9._-]*)*"
REQUESTS = [(m, re.compile(p)) for m, p in (
    ("GET", r"/version"),
    ("GET", API + r"/info"),
    ("GET", API + r"/images/" + IMG + r"/json"),
    ("POST", API + r"/images/create\?fromSrc=-&repo=[A-Za-z0-9._~%-]+"
             r"&tag=[A-Za-z0-9._-]+"),
    ("POST", API + r"/containers/create\?name=" + NAME.pattern),
    ("GET", API + r"/containers/" + WHOSE + r"/json"),
    ("POST", API + r"/containers/" + WHOSE + r"/start"),
    ("POST", API + r"/containers/" + WHOSE + r"/kill\?signal=KILL"),
    ("POST", API + r"/containers/" + WHOSE + r"/(?:un)?pause"),
    ("POST", API + r"/containers/" + WHOSE + r"/update"),
    ("DELETE", API + r"/containers/" + WHOSE + r"\?v=1&force=1"),
    ("GET", API + r"/containers/json\?all=1"
            r"&filters=(?P<list>[A-Za-z0-9._~%-]+)"),
    ("GET", API + r"/events\?filters=(?P<events>[A-Za-z0-9._~%-]+)"),
)]
HEADERS = {"host", "accept", "content-type", "content-length",
           "transfer-encoding"}


def filters(match):
    """Only of one instance, and by its label."""
    for kind, enc in match.groupdict().items():
        f = load(urllib.parse.unquote(enc, errors="strict"))
        want = {"label"} | ({"type", "event"} if kind == "events" else set())
        need(set(f) == want and len(f["label"]) == 1 and re.fullmatch(
            "sandboxd[.]instance=" + HEX32.pattern, f["label"][0]),
            "the filter %r" % f)


def request(head, size):
    """The name of the container if it is a create, "" if it is an update."""
    lines = head.split("\r\n")
    m = re.fullmatch(r"([A-Z]+) (\S+) HTTP/1\.1", lines[0])
    need(m, "the line %r" % lines[0])
    h = {}
    for line in lines[1:]:
        k, colon, v = line.partition(":")
        need(colon and k.lower() in HEADERS and k.lower() not in h,
             "the header %r" % line)
        h[k.lower()] = v.strip()
    need(h.get("host") == "localhost", "Host")
    for method, pattern in REQUESTS:
        p = pattern.fullmatch(m[2])
        if method == m[1] and p:
            filters(p)
            break
    else:
        raise Bad("the request %s %s" % (m[1], m[2]))
    if "?name=" in m[2]:
        same(h.get("content-type"), "application/json", "Content-Type")
        return m[2].rpartition("=")[2]
    if m[2].endswith("/update"):
        same(h.get("content-type"), "application/json", "Content-Type")
        return ""
    need(size == 0 or "/images/create?" in m[2], "a body: %s" % lines[0])
    return None


def records(names):
    """One line each: {"head", "body", "size", "cut"}."""
    n = bodies = bad = 0
    context = {"faults": True}
    for line in fileinput.input(names, encoding="ascii"):
        r = json.loads(line)
        context["under"] = r.get("under", context.get("under", ""))
        if "head" not in r:
            continue
        n += 1
        try:
            box = request(r["head"], r["size"])
            # Whoever sent the rest of it is dead.
            if box is not None and not r["cut"]:
                bodies += 1
                if box == "":
                    judge_update(r["body"])
                else:
                    judge(box, r["body"], context)
        except (Bad, ValueError, KeyError, TypeError) as e:
            bad += 1
            print("%s\n\t%s" % (e, json.dumps(r)[:4000]))
    print("%d requests, %d bodies, %d bad" % (n, bodies, bad))
    return bad


def bodies(f):
    n = bad = 0
    for line in f:
        r = json.loads(line)
        n += 1
        try:
            judge(r["name"], r["body"], r["asked"])
        except (Bad, ValueError, KeyError, TypeError) as e:
            bad += 1
            print("%s\n\t%s" % (e, line[:4000]))
    print("%d bodies, %d bad" % (n, bad))
    return bad


# Forgeries: where, and what stands there instead; GONE takes it away.
GONE = object()
H = "HostConfig"
FORGERIES = [
    ((H, "Privileged"), True), ((H, "privileged"), True),
    ((H, "Privileged"), False),
    ((H, "CapAdd"), ["SYS_ADMIN"]), ((H, "CapDrop"), GONE),
    ((H, "CapDrop"), []), ((H, "CapDrop"), ["all"]),
    ((H, "CapDrop"), ["ALL", "ALL"]), ((H, "CapDrop"), ["NET_RAW"]),
    ((H, "SecurityOpt", 0), "no-new-privileges:false"),
    ((H, "SecurityOpt", 0), "apparmor=unconfined"),
    ((H, "SecurityOpt", 0), "seccomp=unconfined"),
    ((H, "SecurityOpt", 1), "seccomp=unconfined"),
    ((H, "SecurityOpt", 1), "seccomp:unconfined"),
    ((H, "SecurityOpt", 1), "no-new-privileges"),
    ((H, "SecurityOpt", 1), 'seccomp={"defaultAction":"SCMP_ACT_ALLOW",'
     '"architectures":["SCMP_ARCH_X86_64"],"syscalls":[]}'),
    ((H, "SecurityOpt", 1), 'seccomp={"defaultAction":"SCMP_ACT_ERRNO",'
     '"architectures":["SCMP_ARCH_X86_64"],"syscalls":[{"names":["mount"],'
     '"action":"SCMP_ACT_ALLOW"}]}'),
    ((H, "SecurityOpt", 1), 'seccomp={"defaultAction":"SCMP_ACT_ERRNO",'
     '"architectures":["SCMP_ARCH_X86_64"],"syscalls":[{"names":["socket"],'
     '"action":"SCMP_ACT_ALLOW"}]}'),
    ((H, "SecurityOpt", 1), 'seccomp={"defaultAction":"SCMP_ACT_ERRNO",'
     '"architectures":["SCMP_ARCH_X86_64"],"syscalls":[{"names":["clone"],'
     '"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":0,"valueTwo":0,'
     '"op":"SCMP_CMP_MASKED_EQ"}]}]}'),
    ((H, "SecurityOpt", 2), "no-new-privileges:false"),
    ((H, "SecurityOpt"), GONE),
    ((H, "PidsLimit"), 0), ((H, "PidsLimit"), -1), ((H, "PidsLimit"), 3),
    ((H, "PidsLimit"), GONE), ((H, "PidsLimit"), True),
    ((H, "PidsLimit"), "64"), ((H, "PidsLimit"), 1 << 40),
    ((H, "Memory"), 0), ((H, "Memory"), 4096), ((H, "Memory"), GONE),
    ((H, "MemorySwap"), -1), ((H, "MemorySwap"), 1 << 40),
    ((H, "MemorySwap"), GONE), ((H, "Memory"), 6.5e7),
    ((H, "NanoCpus"), 0), ((H, "NanoCpus"), -1), ((H, "NanoCpus"), GONE),
    ((H, "NetworkMode"), "host"), ((H, "NetworkMode"), "bridge"),
    ((H, "NetworkMode"), "container:x"), ((H, "NetworkMode"), GONE),
    ((H, "IpcMode"), "host"), ((H, "IpcMode"), "shareable"),
    ((H, "CgroupnsMode"), "host"), ((H, "PidMode"), "host"),
    ((H, "UTSMode"), "host"), ((H, "UsernsMode"), "host"),
    ((H, "CgroupParent"), "/"), ((H, "Runtime"), "other"),
    ((H, "Binds"), ["/:/host"]), ((H, "VolumesFrom"), ["x"]),
    ((H, "Devices"), [{"PathOnHost": "/dev/mem",
                       "PathInContainer": "/dev/mem",
                       "CgroupPermissions": "rwm"}]),
    ((H, "DeviceCgroupRules"), ["a *:* rwm"]),
    ((H, "DeviceRequests"), [{"Driver": "nvidia", "Count": -1}]),
    ((H, "Sysctls"), {"kernel.x": "1"}), ((H, "GroupAdd"), ["0"]),
    ((H, "Annotations"), {"a": "b"}), ((H, "ExtraHosts"), ["a:1.2.3.4"]),
    ((H, "OomKillDisable"), True), ((H, "OomScoreAdj"), -999),
    ((H, "PortBindings"), {"80/tcp": [{"HostPort": "80"}]}),
    ((H, "PublishAllPorts"), True), ((H, "AutoRemove"), True),
    ((H, "ContainerIDFile"), "/etc/x"), ((H, "Init"), True),
    ((H, "RestartPolicy", "Name"), "always"), ((H, "RestartPolicy"), GONE),
    ((H, "LogConfig", "Type"), "json-file"),
    ((H, "LogConfig", "Type"), "syslog"),
    ((H, "LogConfig", "Config", "max-size"), "1g"),
    ((H, "MaskedPaths"), []), ((H, "MaskedPaths"), None),
    ((H, "MaskedPaths", 3), "/proc/other"), ((H, "ReadonlyPaths"), []),
    ((H, "ReadonlyRootfs"), None), ((H, "ReadonlyRootfs"), 0),
    ((H, "ReadOnlyRootFilesystem"), True), ((H, "ShmSize"), 1 << 40),
    ((H, "Tmpfs", "/tmp"), "size=67108864"),
    ((H, "Tmpfs", "/tmp"), "rw,exec,suid,dev"),
    ((H, "Tmpfs", "/etc"), "size=1"), ((H, "Tmpfs"), GONE),
    ((H, "Tmpfs", "/workspace"), "size=1048576,uid=2000000001,"
     "gid=2000000001,mode=700,exec,nosuid,nodev"),
    ((H, "Tmpfs", "/tmp"), "size=1048576,uid=2000000001,gid=2000000001,"
     "mode=700,exec,nosuid,nodev"), ((H, "Mounts", 0), GONE),
    ((H, "Mounts", 0, "Source"), "/"), ((H, "Mounts", 0, "Source"), "/etc"),
    ((H, "Mounts", 0, "Source"), "/var/lib/sandboxd/mnt/3"),
    ((H, "Mounts", 0, "Source"), "/var/lib/sandboxd/mnt/../mnt/2"),
    ((H, "Mounts", 0, "Source"), "/var/lib/sandboxd//mnt/2"),
    ((H, "Mounts", 0, "Source"), "/var/lib/a:b,c/mnt/2"),
    ((H, "Mounts", 0, "Source"), "var/lib/sandboxd/mnt/2"),
    ((H, "Mounts", 0, "Target"), "/etc"),
    ((H, "Mounts", 0, "Target"), "/.sandboxd/guest"),
    ((H, "Mounts", 0, "Type"), "volume"),
    ((H, "Mounts", 0, "VolumeOptions"), {"DriverConfig": {"Name": "local"}}),
    ((H, "Mounts", 0, "BindOptions", "Propagation"), "rshared"),
    ((H, "Mounts", 0, "BindOptions", "NonRecursive"), False),
    ((H, "Mounts", 0, "BindOptions", "NonRecursive"), 1),
    ((H, "Mounts", 0, "BindOptions", "CreateMountpoint"), True),
    ((H, "Mounts", 1, "ReadOnly"), False),
    ((H, "Mounts", 1, "ReadOnly"), GONE),
    ((H, "Mounts", 1, "Source"), "/bin/sh"),
    ((H, "Mounts", 2, "ReadOnly"), GONE),
    ((H, "Mounts", 2, "Source"), "/var/run"),
    ((H, "Mounts", 2, "Source"), "/var/lib/sandboxd/runner/sock/0/3"),
    ((H, "Mounts", 2, "Source"), "/var/lib/sandboxd/runner/sock/1/2"),
    ((H, "Mounts", 2), GONE),
    ((H, "Mounts", 3), {"Type": "bind", "Source": "/var/run/docker.sock",
                        "Target": "/x"}),
    ((H,), GONE), ((H,), None), (("hostconfig",), {"Privileged": True}),
    (("Image",), ""), (("Image",), "busybox"), (("Image",), "7a15d0"),
    (("Image",), "sha256:7a15d0"), (("Image",), "sha256:" + "A" * 64),
    (("User",), ""), (("User",), "root"), (("User",), "0:0"),
    (("User",), "2000000001"), (("User",), "2000000001:0"),
    (("User",), "0:2000000001"), (("User",), "1000:1000"),
    (("User",), "02000000001:2000000001"), (("User",), 0),
    (("Entrypoint",), ["/bin/sh"]), (("Entrypoint",), GONE),
    (("Entrypoint", 1), "-x"), (("Cmd",), ["sh"]),
    (("WorkingDir",), "/"), (("Healthcheck",), GONE),
    (("Healthcheck", "Test", 0), "CMD"), (("Volumes",), {"/x": {}}),
    (("ExposedPorts",), {"80/tcp": {}}), (("Tty",), True),
    (("OpenStdin",), True), (("StopSignal",), "KILL"),
    (("Shell",), ["/bin/sh"]), (("OnBuild",), ["x"]),
    (("NetworkingConfig",), {"EndpointsConfig": {"host": {}}}),
    (("MacAddress",), "02:00:00:00:00:01"), (("NetworkDisabled",), False),
    (("Hostname",), "other"), (("Domainname",), "x"),
    (("Env", 0), "SANDBOXD_X=1"), (("Env", 0), "=x"), (("Env", 0), "x"),
    (("Env", 0), "A=\0"), (("Env",), None),
    (("Labels", "sandboxd.instance"), "f" * 32),
    (("Labels", "sandboxd.op"), ""), (("Labels", "sandboxd.op"), GONE),
    (("Labels", "sandboxd.owner"), "root"),
    (("Labels", "sandboxd.id"), "a b"), (("Labels", "mine"), "x"),
]
# The same of a body with its workspace in memory.
W = "size=1048576,uid=2000000001,gid=2000000001,mode=700,exec,nosuid,nodev"
IN_MEMORY = [
    ((H, "Tmpfs", "/workspace"), W.replace("nosuid,", "")),
    ((H, "Tmpfs", "/workspace"), W.replace("700", "777")),
    ((H, "Tmpfs", "/workspace"), W.replace("mode=700,", "")),
    ((H, "Tmpfs", "/workspace"), W.replace("uid=2", "uid=1")),
    ((H, "Tmpfs", "/workspace"), W.replace("1048576", "67108865")),
    ((H, "Tmpfs", "/workspace"), ""), ((H, "Tmpfs", "/workspace"), GONE),
    ((H, "Tmpfs", "/etc"), W), ((H, "ReadonlyRootfs"), False),
    ((H, "Mounts", 2), {
        "Type": "bind", "Source": "/var/lib/sandboxd/mnt/2",
        "Target": "/workspace", "BindOptions": {
            "NonRecursive": True, "Propagation": "rprivate"}}),
    ((H, "Mounts", 1, "Source"), "/var/lib/sandboxd/runner/sock/0/3"),
    ((H, "Mounts", 0, "Source"), "/bin/sh"),
]
# And of one with two directories of its client's.
def place(i, target, ro):
    m = {"Type": "bind", "Source": "/var/lib/sandboxd/mounts/2/%d" % i,
         "Target": target, "BindOptions": {
             "NonRecursive": True, "Propagation": "rprivate"}}
    if ro:
        m["ReadOnly"] = True
    return m


OF_CLIENTS = [
    ((H, "Mounts", 3, "Source"), "/var/lib/sandboxd/mounts/3/0"),
    ((H, "Mounts", 3, "Source"), "/var/lib/sandboxd/mounts/2/1"),
    ((H, "Mounts", 3, "Source"), "/srv/work"),
    ((H, "Mounts", 3, "Source"), "/var/lib/sandboxd/mounts/2/0/x"),
    ((H, "Mounts", 4, "Source"), "/var/lib/sandboxd/mounts/2"),
    ((H, "Mounts", 3, "Target"), "/workspace"),
    ((H, "Mounts", 3, "Target"), "/workspace/x"),
    ((H, "Mounts", 3, "Target"), "/.sandboxd"),
    ((H, "Mounts", 3, "Target"), "/proc/sys"), ((H, "Mounts", 3, "Target"), "/"),
    ((H, "Mounts", 3, "Target"), "/mnt/rw"),
    ((H, "Mounts", 3, "Target"), "/mnt/rw/in"),
    ((H, "Mounts", 3, "Target"), "/mnt"),
    ((H, "Mounts", 3, "Target"), "/mnt/../etc"),
    ((H, "Mounts", 3, "Target"), "/mnt//x"), ((H, "Mounts", 3, "Target"), "mnt"),
    ((H, "Mounts", 3, "Target"), "/a b"), ((H, "Mounts", 3, "Target"), ""),
    ((H, "Mounts", 3, "Target"), "/" + "x" * 255),
    ((H, "Mounts", 3, "ReadOnly"), False), ((H, "Mounts", 3, "ReadOnly"), GONE),
    ((H, "Mounts", 4, "ReadOnly"), True),
    ((H, "Mounts", 3, "BindOptions", "Propagation"), "rshared"),
    ((H, "Mounts", 3, "BindOptions", "NonRecursive"), False),
    ((H, "Mounts", 3, "BindOptions", "CreateMountpoint"), True),
    ((H, "Mounts", 3, "Type"), "volume"), ((H, "Mounts", 3), GONE),
    (("User",), "0:0"),
]
# And of the text itself: what is replaced, by what.
SPELLINGS = [
    ("{", '{"HostConfig":{"Privileged":true},'),
    ('"Init":', '"Init":true,"Init":'),
    ('"PidsLimit":', '"pidslimit":'), ('"Memory":', '"Memory":1e9,"x":'),
    ('"NanoCpus":', '"NanoCpus":NaN,"x":'),
]
# What an update must not be: the good one has the limits of the body.
UPDATES = [
    ("Memory", GONE), ("Memory", 0), ("Memory", -1), ("MemorySwap", -1),
    ("MemorySwap", GONE), ("NanoCpus", 0), ("NanoCpus", GONE),
    ("PidsLimit", -1), ("PidsLimit", 0), ("PidsLimit", GONE),
    ("CpuQuota", 1), ("CpusetCpus", "0"), ("BlkioWeight", 10),
    ("KernelMemory", 1), ("MemoryReservation", 1),
    ("RestartPolicy", {"Name": "always"}), ("Devices", []),
    ("OomKillDisable", True), ("Privileged", True),
]
NAMES = ["", "web", "sbx-01234567-0", "sbx-01234567-02", "sbx-01234567-3",
         "sbx-89abcdef-2", "sbx-01234567-2/../x", "sbx-01234567-2?x"]
LINES = [
    "POST /v1.41/containers/create", "POST /containers/create?name=x",
    "POST /v1.41/containers/create?name=web",
    "POST /v1.41/containers/create?name=sbx-01234567-2&platform=x",
    "POST /v1.41/containers/sbx-01234567-2/exec",
    "POST /v1.41/exec/" + "a" * 64 + "/start",
    "GET /v1.41/containers/sbx-01234567-2/archive?path=/",
    "PUT /v1.41/containers/sbx-01234567-2/archive?path=/",
    "POST /v1.41/containers/sbx-01234567-2/attach?stream=1",
    "POST /v1.41/containers/web/update",
    "POST /v1.41/containers/sbx-01234567-2/update?x=1",
    "POST /v1.41/containers/sbx-01234567-2/kill",
    "GET /v1.41/containers/sbx-01234567-2/top",
    "GET /v1.41/containers/../images/json",
    "GET /v1.41/containers/%2e%2e/json", "GET /v1.41/containers/web/json",
    "GET /v1.41/containers/abc/json", "POST /v1.41/containers/web/start",
    "POST /v1.41/containers/web/pause",
    "POST /v1.41/containers/sbx-01234567-2/pause?x=1",
    "DELETE /v1.41/containers/web?v=1&force=1", "POST /v1.41/build",
    "POST /v1.41/commit", "POST /v1.41/images/create?fromImage=x",
    "DELETE /v1.41/images/x", "POST /v1.41/volumes/create",
    "POST /v1.41/networks/create", "GET /v1.41/plugins",
    "GET /v1.41/images/../x/json", "GET /v1.41/images/x/../json",
    "GET /v1.41/containers/json?all=1", "GET /v1.41/events",
    "GET /v1.41/events?filters=%7B%7D", "CONNECT localhost:80",
    "GET /v1.41/containers/json?all=1"
    "&filters=%7B%22label%22%3A%5B%22x%22%5D%7D",
]


def forge(body, where, what):
    b = copy.deepcopy(body)
    at = b
    for k in where[:-1]:
        at = at[k]
    if what is GONE:
        del at[where[-1]]
    elif type(at) is list and where[-1] == len(at):
        at.append(what)
    else:
        at[where[-1]] = what
    return json.dumps(b)


def passes(f, *args):
    try:
        f(*args)
    except (Bad, ValueError, KeyError, TypeError):
        return False
    return True


def forged(name):
    good = load(open(name, "rb").read())
    box = "sbx-01234567-2"
    judge(box, json.dumps(good), {})
    flat = json.dumps(good, separators=(",", ":"))
    bad = ["%s = %r" % (w, "nothing" if v is GONE else v)
           for w, v in FORGERIES
           if passes(judge, box, forge(good, w, v), {})]
    for old, new in SPELLINGS:
        assert old in flat
        if passes(judge, box, flat.replace(old, new, 1), {}):
            bad.append("%r for %r" % (new, old))
    if passes(judge, box, flat + "{}", {}):
        bad.append("text behind it")
    memory = copy.deepcopy(good)
    memory[H]["Tmpfs"]["/workspace"] = W
    memory[H]["ReadonlyRootfs"] = True
    del memory[H]["Mounts"][0]
    judge(box, json.dumps(memory), {"tmpfs": 1 << 20})
    bad += ["in memory: %s = %r" % (w, "nothing" if v is GONE else v)
            for w, v in IN_MEMORY
            if passes(judge, box, forge(memory, w, v), {})]
    kept = copy.deepcopy(good)
    kept[H]["Mounts"] += [place(0, "/mnt/ro", True), place(1, "/mnt/rw", False)]
    two = {"ro": ["/mnt/ro"], "rw": ["/mnt/rw"], "root": True}
    judge(box, json.dumps(kept), two)
    bad += ["of clients: %s = %r" % (w, "nothing" if v is GONE else v)
            for w, v in OF_CLIENTS
            if passes(judge, box, forge(kept, w, v), two)]
    few = {k: good[H][k] for k in LIMITS}
    judge_update(json.dumps(few))
    bad += ["update: %s = %r" % (k, "nothing" if v is GONE else v)
            for k, v in UPDATES
            if passes(judge_update, forge(few, (k,), v))]
    bad += ["the name %r" % n for n in NAMES if passes(judge, n, flat, {})]
    wrong = {"id": "t3", "n": 3, "owner": 1, "op": "0" * 32, "uid": 2000000002,
             "gid": 2000000002, "memory": 1 << 30, "mcpus": 999, "pids": 33,
             "readonly": True, "tmp": 1, "tmpfs": 1, "env": [], "mnt": "/x",
             "sock": "/x", "guest": "/x", "low": 2000000002, "high": 2000000000,
             "instance": "0" * 32, "image": "sha256:" + "0" * 64,
             "under": "/tmp", "ro": ["/x"], "rw": ["/x"]}
    bad += ["asked: %s" % k for k, v in wrong.items()
            if passes(judge, box, flat, {k: v})]
    tail = " HTTP/1.1\r\nHost: localhost\r\nAccept: */*"
    bad += ["the request %s" % r for r in LINES
            if passes(request, r + tail, 0)]
    good = "GET /v1.41/info" + tail
    request(good, 0)
    for r in (good + "\r\nX-Registry-Auth: x", good + "\r\nUpgrade: tcp",
              good.replace("localhost", "other"), good.replace("1.1", "1.0")):
        if passes(request, r, 0):
            bad.append("the headers %r" % r)
    if passes(request, good, 1):
        bad.append("a body where none belongs")
    for b in bad:
        print("not seen: " + b)
    print("%d forgeries, %d not seen" % (
        len(FORGERIES) + len(SPELLINGS) + 1 + len(NAMES) + len(wrong) +
        len(LINES) + len(UPDATES) + len(IN_MEMORY) + len(OF_CLIENTS) + 5,
        len(bad)))
    return len(bad)


def main(argv):
    if argv[1:2] == ["bodies"]:
        return bodies(open(argv[2], encoding="ascii") if len(argv) > 2
                      else sys.stdin)
    if len(argv) > 2 and argv[1] == "records":
        return records(argv[2:])
    if len(argv) == 3 and argv[1] == "forged":
        return forged(argv[2])
    sys.exit("usage: check_body.py bodies|records|forged file")


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv) else 0)
