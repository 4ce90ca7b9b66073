/*
 * Makes a filter of the tables and enters it.
 *
 * Three things can happen to a call: it is permitted; or it is one that we
 * know and do not permit, and the process dies; or its number is larger than
 * any that libseccomp knows, and the answer is that there is no such call, as
 * an older kernel would say.  The last one is for a libc that is newer than
 * these tables: it tries, and falls back.
 *
 * libseccomp has no word for "larger than", so its program is exported, and
 * four instructions are put before it.
 */

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"
#include "log.h"
#include "proc.h"

#ifndef SYS_SECCOMP
#define SYS_SECCOMP	1		/* si_code, which glibc leaves out */
#endif

#define FILTER_MAX	4096		/* instructions, as the kernel has it */
#define FILTER_HEAD	6		/* ours, before libseccomp's */
#define FILTER_SECS	2		/* of the processor, to make it */
#define NUMBERS_MAX	1024		/* no kernel has as many calls */
#define X32_BIT		0x40000000	/* numbers of another architecture */

#ifdef FAULTS
int
confine_lacks(const char *name)
{
	const char	*lack = getenv("SANDBOXD_LACK");
	size_t		 len = strlen(name);

	for (; lack != NULL; lack = strchr(lack, ',')) {
		lack += *lack == ',';
		if (strncmp(lack, name, len) == 0 &&
		    (lack[len] == ',' || lack[len] == '\0'))
			return (1);
	}
	return (0);
}

static volatile sig_atomic_t	 surviving, survived;

int
confine_survive(int yes)
{
	int	 was = survived;

	surviving = yes;
	survived = 0;
	return (was);
}

/*
 * A build for tests lives long enough to say which call it was.  The page
 * that is shared with the parent is the one place that can be written in
 * whatever state we are; then the same again, which nothing catches any more.
 */
static void
forbidden(int sig, siginfo_t *info, void *arg)
{
	(void)sig;
	(void)arg;
	if (surviving) {
		survived = 1;
		return;
	}
	/* Or somebody has sent the signal. */
	if (info->si_code == SYS_SECCOMP)
		proc_forbidden(info->si_syscall);
	(void)syscall(SYS_ptrace, -1, 0, 0, 0);
	_exit(1);
}

static uint32_t
filter_action(void)
{
	struct sigaction	 sa;
	const char		*trap = getenv("SANDBOXD_TRAP");

	if (trap != NULL && strcmp(trap, "no") == 0)
		return (SCMP_ACT_KILL_PROCESS);
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = forbidden;
	sa.sa_flags = SA_SIGINFO;
	if (sigaction(SIGSYS, &sa, NULL) == -1)
		fatal("%s", __func__);
	return (SCMP_ACT_TRAP);
}
#else
static uint32_t
filter_action(void)
{
	return (SCMP_ACT_KILL_PROCESS);
}
#endif

char *
confine_call_name(int nr)
{
	return (seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr));
}

/* The largest number that has a name. */
static uint32_t
filter_newest(void)
{
	char		*name = NULL;
	uint32_t	 nr;

	for (nr = NUMBERS_MAX; nr > 0 && name == NULL; nr--)
		name = confine_call_name((int)nr - 1);
	free(name);
	return (nr);
}

static void
filter_add(scmp_filter_ctx ctx, uint32_t action, const struct confine_table *t)
{
	const struct confine_call	*c;
	struct scmp_arg_cmp		 cmp;
	size_t				 i;
	int				 ret;

	for (i = 0; i < t->n; i++) {
		c = &t->calls[i];
		/* One that this architecture does not have. */
		if (c->nr < 0)
			continue;
		memset(&cmp, 0, sizeof(cmp));
		cmp.arg = c->arg - 1;
		cmp.op = SCMP_CMP_MASKED_EQ;
		cmp.datum_a = c->mask;
		cmp.datum_b = c->value == CONFINE_SELF ? (uint64_t)getpid() :
		    c->value;
		ret = seccomp_rule_add_array(ctx, action, c->nr, c->arg != 0,
		    &cmp);
		/* Two libraries of libc's names may be one call. */
		if (ret != 0 && ret != -EEXIST) {
			errno = -ret;
			fatal("%s: call %d", __func__, c->nr);
		}
	}
}

/*
 * Where an allocation fails libseccomp may go around in a circle for ever
 * (2.5.4 does).  A filter takes under a millisecond: who has used seconds of
 * the processor for it dies of SIGVTALRM and is replaced.  0: it is done.
 */
static void
filter_deadline(time_t seconds)
{
	struct itimerval	 it;

	memset(&it, 0, sizeof(it));
	it.it_value.tv_sec = seconds;
	if (setitimer(ITIMER_VIRTUAL, &it, NULL) == -1)
		fatal("%s: setitimer", __func__);
}

static scmp_filter_ctx
filter_new(uint32_t action)
{
	scmp_filter_ctx	 ctx;

	if ((ctx = seccomp_init(action)) == NULL)
		fatalx("%s: no memory", __func__);
	if (seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
	    SCMP_ACT_KILL_PROCESS) != 0)
		fatalx("%s: another architecture", __func__);
	/* Sorted by number; of an older libseccomp one after the other. */
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return (ctx);
}

/* libseccomp's program, behind ours; how long both are. */
static unsigned short
filter_export(scmp_filter_ctx ctx, struct sock_filter *prog)
{
	char	*p = (char *)&prog[FILTER_HEAD];
	size_t	 len = 0, max = (FILTER_MAX - FILTER_HEAD) * sizeof(*prog);
	ssize_t	 n;
	int	 fds[2], ret;

	/* It holds 64 KiB, twice what a filter may have. */
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1)
		fatal("%s: pipe2", __func__);
	if ((ret = seccomp_export_bpf(ctx, fds[1])) != 0) {
		errno = -ret;
		fatal("%s", __func__);
	}
	close(fds[1]);
	while ((n = read(fds[0], p + len, max - len)) > 0)
		len += (size_t)n;
	close(fds[0]);
	if (n == -1 || len == 0 || len == max || len % sizeof(*prog) != 0)
		fatalx("%s: %zu bytes", __func__, len);
	return ((unsigned short)(FILTER_HEAD + len / sizeof(*prog)));
}

/* What has no name yet does not exist. */
static void
filter_head(struct sock_filter *prog)
{
	const struct sock_filter	 head[FILTER_HEAD] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(),
		    0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, filter_newest(), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};

	memcpy(prog, head, sizeof(head));
}

int
confine_filter(enum role role)
{
	static struct sock_filter	 prog[FILTER_MAX];
	struct confine_table		 t[CONFINE_TABLES];
	struct sock_fprog		 fprog = { .filter = prog };
	scmp_filter_ctx			 ctx;
	size_t				 i, n;

	if (confine_lacks("seccomp"))
		return (0);
	filter_deadline(FILTER_SECS);
	ctx = filter_new(filter_action());
	n = confine_tables(role, t);
	for (i = 0; i < n; i++)
		filter_add(ctx, SCMP_ACT_ALLOW, &t[i]);
	fprog.len = filter_export(ctx, prog);
	seccomp_release(ctx);
	filter_deadline(0);
	filter_head(prog);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog) == -1) {
		if (errno == EINVAL || errno == ENOSYS)
			return (0);
		fatal("%s: %u instructions", __func__, fprog.len);
	}
	return (1);
}

int
confine_filter_parent(void)
{
	scmp_filter_ctx	 ctx;
	int		 ret;

	if (confine_lacks("seccomp"))
		return (0);
	ctx = filter_new(SCMP_ACT_ALLOW);
	/* It has CAP_SYS_ADMIN, and its children may gain what it gives. */
	if (seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 0) != 0)
		fatalx("%s", __func__);
	filter_add(ctx, SCMP_ACT_ERRNO(EPERM), &confine_parent_denied);
	if ((ret = seccomp_load(ctx)) != 0 && ret != -EINVAL &&
	    ret != -ENOSYS && ret != -ECANCELED) {
		errno = -ret;
		fatal("%s", __func__);
	}
	seccomp_release(ctx);
	return (ret == 0);
}
