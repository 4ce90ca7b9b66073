/*
 * The filters, made of the tables in sandboxd/confine_calls.c and judged by
 * them: what a table permits the kernel permits, and nothing else.
 *
 * confine_filter() hands its program to prctl(2), which is ours here: what it
 * would enter is kept.  Every number and argument is then tried by a small
 * interpreter, and each line of each table by a process that enters the
 * program and makes the call.
 */

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <atf-c.h>
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"
#include "proc.h"

#define FILTER_MAX	4096
#define NUMBERS		1024
#define NARGS		6
#define NONE		UINT64_MAX	/* as an argument: nothing real */

static struct sock_filter	 prog[FILTER_MAX];
static unsigned short		 prog_len;

static const char	*role_name[ROLE_MAX] = {
	[ROLE_PARENT] = "emptier",
	[ROLE_FRONTEND] = "frontend",
	[ROLE_STORE] = "store",
	[ROLE_BROKER] = "broker",
	[ROLE_RUNNER] = "runner",
};

/* Of a build for tests, which is to be ended like every other one. */
void
proc_forbidden(int call)
{
	(void)call;
}

int
prctl(int option, ...)
{
	const struct sock_fprog	*p;
	unsigned long		 a[4];
	va_list			 ap;
	int			 i;

	va_start(ap, option);
	for (i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option != PR_SET_SECCOMP)
		return ((int)syscall(SYS_prctl, option, a[0], a[1], a[2],
		    a[3]));
	p = (const struct sock_fprog *)(uintptr_t)a[1];
	prog_len = p->len;
	memcpy(prog, p->filter, p->len * sizeof(prog[0]));
	return (0);
}

/* The role's program is in prog; its tables are in t, this many. */
static size_t
load(enum role role, struct confine_table *t)
{
	setenv("SANDBOXD_TRAP", "no", 1);
	unsetenv("SANDBOXD_LACK");
	prog_len = 0;
	ATF_REQUIRE_EQ(confine_filter(role), 1);
	ATF_REQUIRE(prog_len > 10);
	return (confine_tables(role, t));
}

/* What the kernel would do with a call. */
static uint32_t
run(const struct seccomp_data *d)
{
	const struct sock_filter	*f;
	uint32_t			 a = 0, k;
	unsigned			 pc;

	for (pc = 0; pc < prog_len; pc++) {
		f = &prog[pc];
		k = f->k;
		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			ATF_REQUIRE(k + sizeof(a) <= sizeof(*d));
			memcpy(&a, (const char *)d + k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= k;
			break;
		case BPF_JMP | BPF_JA:
			pc += k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= k ? f->jt : f->jf;
			break;
		case BPF_RET | BPF_K:
			return (k);
		default:
			atf_tc_fail("instruction %#x", f->code);
		}
	}
	atf_tc_fail("the program has no end");
}

static uint64_t
value_of(const struct confine_call *c)
{
	return (c->value == CONFINE_SELF ? (uint64_t)getpid() : c->value);
}

static int
holds(const struct confine_call *c, const uint64_t *args)
{
	return (c->arg == 0 ||
	    (args[c->arg - 1] & c->mask) == (value_of(c) & c->mask));
}

static int
permitted(const struct confine_table *t, size_t n, int nr,
    const uint64_t *args)
{
	size_t	 i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < t[i].n; j++)
			if (t[i].calls[j].nr == nr &&
			    holds(&t[i].calls[j], args))
				return (1);
	return (0);
}

/* The program says what the tables say. */
static void
agrees(enum role role, const struct confine_table *t, size_t n, int nr,
    const uint64_t *args)
{
	struct seccomp_data	 d;
	uint32_t		 got, want;

	memset(&d, 0, sizeof(d));
	d.arch = seccomp_arch_native();
	d.nr = nr;
	memcpy(d.args, args, sizeof(d.args));
	got = run(&d);
	want = permitted(t, n, nr, args) ? SECCOMP_RET_ALLOW :
	    SECCOMP_RET_KILL_PROCESS;
	ATF_CHECK_MSG(got == want, "%s, call %d (%#llx, %#llx, %#llx, ...): "
	    "%#x, not %#x", role_name[role], nr, (unsigned long long)args[0],
	    (unsigned long long)args[1], (unsigned long long)args[2], got,
	    want);
}

static int
newest(void)
{
	char	*name;
	int	 nr;

	for (nr = NUMBERS - 1; nr > 0; nr--)
		if ((name = confine_call_name(nr)) != NULL) {
			free(name);
			break;
		}
	return (nr);
}

static void
fill(uint64_t *args, uint64_t v)
{
	int	 i;

	for (i = 0; i < NARGS; i++)
		args[i] = v;
}

ATF_TC(program);
ATF_TC_HEAD(program, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aP4) every number and every bit of an "
	    "argument: what the tables permit and nothing else");
}
ATF_TC_BODY(program, tc)
{
	struct confine_table		 t[CONFINE_TABLES];
	const struct confine_call	*c;
	struct seccomp_data		 d;
	uint64_t			 args[NARGS];
	enum role			 r;
	size_t				 i, j, n;
	int				 bit, last = newest(), nr;

	ATF_REQUIRE(last > 400);
	for (r = ROLE_PARENT; r < ROLE_MAX; r++) {
		n = load(r, t);
		for (nr = 0; nr <= last; nr++) {
			fill(args, 0);
			agrees(r, t, n, nr, args);
			fill(args, NONE);
			agrees(r, t, n, nr, args);
		}
		for (i = 0; i < n; i++)
			for (j = 0; j < t[i].n; j++) {
				c = &t[i].calls[j];
				if (c->arg == 0 || c->nr < 0)
					continue;
				fill(args, NONE);
				args[c->arg - 1] = value_of(c);
				agrees(r, t, n, c->nr, args);
				for (bit = 0; bit < 64; bit++) {
					args[c->arg - 1] = value_of(c) ^
					    1ULL << bit;
					agrees(r, t, n, c->nr, args);
				}
			}
		memset(&d, 0, sizeof(d));
		d.arch = seccomp_arch_native();
		for (nr = last + 1; nr < 100000; nr++) {
			d.nr = nr;
			ATF_CHECK_EQ(run(&d), SECCOMP_RET_ERRNO | ENOSYS);
		}
		/* Other architectures, and the same one's other numbers. */
		d.nr = 0x40000000 | SYS_getpid;
		ATF_CHECK_EQ(run(&d), SECCOMP_RET_KILL_PROCESS);
		d.nr = SYS_getpid;
		ATF_CHECK_EQ(run(&d), SECCOMP_RET_ALLOW);
		d.arch ^= 1;
		ATF_CHECK_EQ(run(&d), SECCOMP_RET_KILL_PROCESS);
	}
}

/* A line that another one of the same table makes needless is a mistake. */
static void
needed(enum role role, const struct confine_table *t)
{
	const struct confine_call	*a, *b;
	size_t				 i, j;

	for (i = 0; i < t->n; i++)
		for (j = 0; j < t->n; j++) {
			a = &t->calls[i];
			b = &t->calls[j];
			if (i == j || a->nr < 0 || a->nr != b->nr)
				continue;
			ATF_CHECK_MSG(b->arg != 0 && !(a->arg == b->arg &&
			    (a->mask & b->mask) == b->mask &&
			    ((a->value ^ b->value) & b->mask) == 0),
			    "%s: line %zu of call %d is in line %zu",
			    role_name[role], i, a->nr, j);
		}
}

ATF_TC(lines);
ATF_TC_HEAD(lines, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aP4) no line is part of another one");
}
ATF_TC_BODY(lines, tc)
{
	struct confine_table	 t[CONFINE_TABLES];
	enum role		 r;
	size_t			 i, n;

	for (r = ROLE_PARENT; r < ROLE_MAX; r++) {
		n = confine_tables(r, t);
		for (i = 0; i < n; i++)
			needed(r, &t[i]);
	}
	needed(ROLE_PARENT, &confine_parent_denied);
}

static void
enter(void)
{
	struct sock_fprog	 p = { prog_len, prog };
	struct rlimit		 rl = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &rl);
	if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0,
	    0) == -1)
		_exit(99);
}

static void
ignore(int sig)
{
	(void)sig;
}

/*
 * A process enters the program and makes the call; how it ended.  Nothing that
 * is called does anything: the arguments are nonsense but for the one that is
 * looked at.  What waits for a signal gets one, and then another one; what
 * comes back from one is not called, it comes back from one.
 */
static int
live(int nr, uint64_t *args)
{
	struct itimerval	 it = { { 0, 0 }, { 60, 0 } };
	pid_t			 pid;
	int			 status;

	if ((pid = fork()) == 0) {
		if (nr == SYS_pause || nr == SYS_rt_sigreturn) {
			it.it_value.tv_sec = 0;
			it.it_value.tv_usec = 1000;
			it.it_interval = it.it_value;
			(void)signal(SIGALRM, ignore);
			nr = SYS_pause;
		}
		(void)setitimer(ITIMER_REAL, &it, NULL);
		enter();
		(void)syscall(nr, args[0], args[1], args[2], args[3], args[4],
		    args[5]);
		_exit(0);
	}
	ATF_REQUIRE(pid != -1 && waitpid(pid, &status, 0) == pid);
	ATF_REQUIRE(!WIFEXITED(status) || WEXITSTATUS(status) != 99);
	return (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void
live_as(enum role role, const struct confine_table *t, size_t n, int nr,
    uint64_t *args)
{
	int	 ok = permitted(t, n, nr, args), sig = live(nr, args);
	char	*name = confine_call_name(nr);

	ATF_CHECK_MSG((sig != SIGSYS) == ok, "%s: %s(%#llx, %#llx, %#llx, "
	    "...): signal %d", role_name[role], name != NULL ? name : "?",
	    (unsigned long long)args[0], (unsigned long long)args[1],
	    (unsigned long long)args[2], sig);
	free(name);
}

/* The line's own value, and the nearest one that no line permits. */
static void
live_line(enum role role, const struct confine_table *t, size_t n,
    const struct confine_call *c)
{
	uint64_t	 args[NARGS];
	int		 bit;

	fill(args, NONE);
	if (c->arg == 0) {
		live_as(role, t, n, c->nr, args);
		return;
	}
	args[c->arg - 1] = (NONE & ~c->mask) | (value_of(c) & c->mask);
	/* A process is another one than the test. */
	if (c->value == CONFINE_SELF)
		args[c->arg - 1] = (uint64_t)getpid();
	live_as(role, t, n, c->nr, args);
	for (bit = 0; bit < 64; bit++) {
		if ((c->mask & 1ULL << bit) == 0)
			continue;
		args[c->arg - 1] ^= 1ULL << bit;
		if (!permitted(t, n, c->nr, args)) {
			live_as(role, t, n, c->nr, args);
			break;
		}
		args[c->arg - 1] ^= 1ULL << bit;
	}
}

/* Where the kernel reads 64 bits the filter does. */
ATF_TC(pointers);
ATF_TC_HEAD(pointers, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aP4) a limit is not set from an "
	    "address whose lower half is zero");
}
ATF_TC_BODY(pointers, tc)
{
	struct confine_table	 t[CONFINE_TABLES];
	struct seccomp_data	 d;
	enum role		 r;
	int			 bit;

	for (r = ROLE_PARENT; r < ROLE_MAX; r++) {
		(void)load(r, t);
		memset(&d, 0, sizeof(d));
		d.arch = seccomp_arch_native();
		d.nr = SYS_prlimit64;
		ATF_CHECK_EQ(run(&d), SECCOMP_RET_ALLOW);
		for (bit = 0; bit < 64; bit++) {
			d.args[2] = 1ULL << bit;
			ATF_CHECK_EQ_MSG(run(&d), SECCOMP_RET_KILL_PROCESS,
			    "%s: %#llx", role_name[r],
			    (unsigned long long)d.args[2]);
		}
	}
}

ATF_TC(kernel);
ATF_TC_HEAD(kernel, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aP4) each line of each table, "
	    "permitted and forbidden, in a process with each role's filter");
}
ATF_TC_BODY(kernel, tc)
{
	struct confine_table	 t[CONFINE_TABLES], other[CONFINE_TABLES];
	enum role		 r, o;
	size_t			 i, j, n, m;

	for (r = ROLE_PARENT; r < ROLE_MAX; r++) {
		n = load(r, t);
		for (i = 0; i < n; i++)
			for (j = 0; j < t[i].n; j++)
				if (t[i].calls[j].nr >= 0)
					live_line(r, t, n, &t[i].calls[j]);
		/* What others may: the first table is everybody's. */
		for (o = ROLE_PARENT; o < ROLE_MAX; o++) {
			m = confine_tables(o, other);
			ATF_REQUIRE(o == r || m == n);
			for (j = 0; j < other[1].n; j++)
				if (o != r && other[1].calls[j].nr >= 0)
					live_line(r, t, n,
					    &other[1].calls[j]);
		}
	}
}

ATF_TC(parent);
ATF_TC_HEAD(parent, tc)
{
	atf_tc_set_md_var(tc, "descr", "(aP4) what is denied to the parent, to "
	    "root with every capability");
}
ATF_TC_BODY(parent, tc)
{
	const struct confine_table	*t = &confine_parent_denied;
	size_t				 i, n = 0;
	pid_t				 pid;
	int				 status;

	unsetenv("SANDBOXD_LACK");
	ATF_REQUIRE_EQ(geteuid(), 0);
	/* Without it they are refused for their arguments. */
	for (i = 0; i < t->n; i++)
		if (t->calls[i].nr >= 0) {
			errno = 0;
			(void)syscall(t->calls[i].nr, NONE, NONE, NONE, NONE,
			    NONE, NONE);
			n += errno != EPERM;
		}
	ATF_CHECK_MSG(n > 5, "%zu", n);
	if ((pid = fork()) == 0) {
		if (confine_filter_parent() != 1)
			_exit(255);
		for (i = 0; i < t->n; i++)
			if (t->calls[i].nr >= 0 && (syscall(t->calls[i].nr,
			    NONE, NONE, NONE, NONE, NONE, NONE) != -1 ||
			    errno != EPERM))
				_exit((int)i + 1);
		_exit(getpid() == 1);
	}
	ATF_REQUIRE_EQ(waitpid(pid, &status, 0), pid);
	ATF_CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "status %#x", status);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, kernel);
	ATF_TP_ADD_TC(tp, lines);
	ATF_TP_ADD_TC(tp, parent);
	ATF_TP_ADD_TC(tp, pointers);
	ATF_TP_ADD_TC(tp, program);
	return (atf_no_error());
}
