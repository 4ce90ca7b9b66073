/*
 * What each process may do, on Linux: one function per process, which enters
 * its layers in order.  The filter comes last, since it forbids to enter any
 * more; the layers themselves are in confine_*.c.
 */

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <linux/capability.h>

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"
#include "log.h"
#include "proc.h"
#include "spoil.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE		65
#define PR_MDWE_REFUSE_EXEC_GAIN	1
#endif

static struct proc_layers	 layers;

void
sandbox_rlimit(int what, uint64_t value)
{
	struct rlimit	 rl;

	rl.rlim_cur = rl.rlim_max = value;
	if (setrlimit(what, &rl) == -1)
		fatal("%s: setrlimit %d to %llu", __func__, what,
		    (unsigned long long)value);
}

/* What has no page to execute now gets none. */
static int
sandbox_mdwe(void)
{
#ifdef ASAN
	/* Its shadow memory is made otherwise. */
	return (0);
#else
	if (confine_lacks("mdwe"))
		return (0);
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0)
		return (1);
	if (errno != EINVAL)
		fatal("%s", __func__);
	return (0);
#endif
}

/* Of all children: no process, no thread, no program with more rights. */
static void
sandbox_common(enum role role, const struct confine_path *paths)
{
	spoil_late();
	if (!spoils("Max processes"))
		sandbox_rlimit(RLIMIT_NPROC, 0);
	if (spoils("NoNewPrivs"))
		return;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fatal("%s: no_new_privs", __func__);
	if (sandbox_mdwe())
		layers.mask |= LAYER_MDWE;
	layers.landlock = confine_landlock_abi();
	if (confine_landlock(paths))
		layers.mask |= LAYER_LANDLOCK;
	if (spoils("Seccomp_filters") || confine_filter(role))
		layers.mask |= LAYER_SECCOMP;
}

const struct proc_layers *
sandbox_layers(void)
{
	return (&layers);
}

/* No file may grow; a sanitizer's report may go to one. */
static void
sandbox_nofiles(void)
{
#ifndef ASAN
	if (!spoils("Max file size"))
		sandbox_rlimit(RLIMIT_FSIZE, 0);
#endif
}

void
sandbox_frontend(void)
{
	/* Answers on descriptors that it is given; its root is empty. */
	sandbox_nofiles();
	sandbox_common(ROLE_FRONTEND, NULL);
}

void
sandbox_store(void)
{
	/* The files of the database grow, below its root alone. */
	static const struct confine_path	 paths[] = {
		{ "/", CONFINE_FS_READ | CONFINE_FS_WRITE |
		    CONFINE_FS_FILES },
		{ NULL, 0 }
	};

	sandbox_common(ROLE_STORE, paths);
}

/*
 * The Engine's socket is its one path, and it makes no file.  The socket is
 * another one after each start of the Engine, so it is known by its directory,
 * or by what there is of that.
 */
void
sandbox_broker(const char *engine)
{
	struct confine_path	 paths[2];
	char			 buf[PATH_MAX], *dir = buf;

	strlcpy(buf, engine, sizeof(buf));
	do
		dir = dirname(dir);
	while (access(dir, F_OK) == -1 && strcmp(dir, "/") != 0);
	memset(paths, 0, sizeof(paths));
	paths[0].path = dir;
	paths[0].rights = CONFINE_FS_CONNECT;
	sandbox_nofiles();
	sandbox_common(ROLE_BROKER, paths);
}

void
sandbox_runner(void)
{
	/* Logs grow and sockets are made, below its root alone. */
	static const struct confine_path	 paths[] = {
		{ "/log", CONFINE_FS_READ | CONFINE_FS_WRITE |
		    CONFINE_FS_FILES | CONFINE_FS_DIRS },
		{ "/sock", CONFINE_FS_SOCKETS },
		{ NULL, 0 }
	};

	sandbox_common(ROLE_RUNNER, paths);
}

void
sandbox_emptier(void)
{
	/* Directories are opened, moved and removed, files are removed. */
	static const struct confine_path	 paths[] = {
		{ "/", CONFINE_FS_READ | CONFINE_FS_FILES |
		    CONFINE_FS_DIRS },
		{ NULL, 0 }
	};

	sandbox_nofiles();
	sandbox_common(ROLE_PARENT, paths);
}

/* In force all the time. */
#define PARENT_CAPS							\
	(1ULL << CAP_CHOWN |	/* gives directories to their users */	\
	1ULL << CAP_KILL |	/* ends children, which are others' */	\
	1ULL << CAP_SETUID |	/* children become their users */	\
	1ULL << CAP_SETGID |						\
	1ULL << CAP_SETPCAP |	/* and empty their bounding sets */	\
	1ULL << CAP_SYS_CHROOT)	/* and enter their root directories */

/* Raised for one act each. */
#define PARENT_CAPS_RAISED						\
	(1ULL << CAP_SYS_ADMIN | /* mounts the workspaces nosuid,nodev */ \
	1ULL << CAP_SYS_PTRACE | /* reads a child's root in /proc */	\
	1ULL << CAP_FOWNER)	/* opens a removed workspace that its	\
				   user has closed to himself */

static int
caps_set(uint64_t effective, uint64_t permitted)
{
	struct __user_cap_header_struct	 hdr;
	struct __user_cap_data_struct	 data[2];

	hdr.version = _LINUX_CAPABILITY_VERSION_3;
	hdr.pid = 0;
	memset(data, 0, sizeof(data));
	data[0].effective = (uint32_t)effective;
	data[1].effective = (uint32_t)(effective >> 32);
	data[0].permitted = (uint32_t)permitted;
	data[1].permitted = (uint32_t)(permitted >> 32);
	return ((int)syscall(SYS_capset, &hdr, data));
}

void
sandbox_parent(void)
{
	uint64_t	 caps = PARENT_CAPS | PARENT_CAPS_RAISED;
	int		 cap;

	if (confine_filter_parent())
		layers.mask |= LAYER_SECCOMP;
	for (cap = 0;; cap++) {
		if (cap < 64 && caps & (1ULL << cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1) {
			if (errno == EINVAL)
				break;
			fatal("%s: capability %d", __func__, cap);
		}
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1 ||
	    caps_set(PARENT_CAPS, caps) == -1)
		fatal("%s: capabilities (CHOWN FOWNER KILL SETGID SETPCAP "
		    "SETUID SYS_ADMIN SYS_CHROOT SYS_PTRACE are needed)",
		    __func__);
	sandbox_rlimit(RLIMIT_CORE, 0);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("%s: not dumpable", __func__);
}

static int
sandbox_raise(uint64_t caps)
{
	return (caps_set(PARENT_CAPS | caps, PARENT_CAPS |
	    PARENT_CAPS_RAISED));
}

int
sandbox_raise_admin(void)
{
	return (sandbox_raise(1ULL << CAP_SYS_ADMIN));
}

int
sandbox_raise_fowner(void)
{
	return (sandbox_raise(1ULL << CAP_FOWNER));
}

int
sandbox_raise_ptrace(void)
{
	return (sandbox_raise(1ULL << CAP_SYS_PTRACE));
}

void
sandbox_lower(void)
{
	if (sandbox_raise(0) == -1)
		fatal("%s", __func__);
}

/* For a child that is no role: it may be of uid 0 and keeps none even so. */
int
sandbox_drop(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return (-1);
	return (caps_set(0, 0));
}
