/* See spoil.h. */

#include "spoil.h"

#ifdef FAULTS
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/capability.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "proc.h"

int
spoils(const char *what)
{
	const char	*s = getenv("SANDBOXD_BREAK");

	return (s != NULL && strcmp(s, what) == 0);
}

/*
 * Capabilities that it keeps over the change of its user: those that it would
 * hand on to a program with the same, and those that are in force.
 */
static int
keep(int inherit, int effect)
{
	struct __user_cap_header_struct	 hdr;
	struct __user_cap_data_struct	 data[2];

	memset(&hdr, 0, sizeof(hdr));
	hdr.version = _LINUX_CAPABILITY_VERSION_3;
	if (syscall(SYS_capget, &hdr, data) == -1)
		return (-1);
	if (inherit)
		data[0].inheritable |= 1U << CAP_KILL;
	if (effect)
		data[0].effective = data[0].permitted;
	return ((int)syscall(SYS_capset, &hdr, data));
}

void
spoil_early(struct proc_ids *ids)
{
	int	 ret = 0;

	if (spoils("Uid"))
		ids->uid++;
	else if (spoils("Gid"))
		ids->gid++;
	else if (spoils("Groups"))
		ids->groups[ids->ngroups++] = ids->gid;
	else if (spoils("CapInh"))
		ret = keep(1, 0);
	else if (spoils("CapAmb"))
		/* While it may be inherited: the bounding set goes next. */
		ret = keep(1, 0) == -1 ? -1 : prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	else if (spoils("CapPrm") || spoils("CapEff"))
		ret = prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	else if (spoils("root"))
		ret = ids->root = open("/etc", O_RDONLY | O_DIRECTORY);
	else if (spoils("Max open files"))
		ids->nofile--;
	else if (spoils("Max address space"))
		ids->memory -= 4096;
	else if (spoils("ns/uts"))
		ret = unshare(CLONE_NEWUTS);
	else if (spoils("fd"))
		ret = fcntl(open("/etc/passwd", O_RDONLY), F_DUPFD, 40);
	if (ret == -1)
		fatal("%s", __func__);
}

static void
caught(int sig)
{
	(void)sig;
}

static void *
thread(void *arg)
{
	for (;;)
		pause();
	return (arg);
}

void
spoil_late(void)
{
	pthread_t	 t;
	sigset_t	 set;
	int		 ret = 0;

	if (spoils("Threads")) {
		ret = pthread_create(&t, NULL, thread, NULL) == 0 ? 0 : -1;
	} else if (spoils("SigBlk")) {
		sigemptyset(&set);
		sigaddset(&set, SIGWINCH);
		ret = sigprocmask(SIG_BLOCK, &set, NULL);
	} else if (spoils("SigIgn"))
		ret = signal(SIGWINCH, SIG_IGN) == SIG_ERR ? -1 : 0;
	else if (spoils("SigCgt"))
		ret = signal(SIGWINCH, caught) == SIG_ERR ? -1 : 0;
	else if (spoils("cwd"))
		ret = chdir("log");
	else if (spoils("CapEff"))
		ret = keep(0, 1);
	else if (spoils("CapAmb"))
		ret = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL,
		    0, 0);
	else if (spoils("maps"))
		ret = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 :
		    0;
	else if (spoils("dumpable"))
		ret = prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (ret == -1)
		fatal("%s", __func__);
}
#else
/* A file without a declaration is no C. */
typedef int	 spoil_unused;
#endif
