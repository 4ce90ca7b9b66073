/* The runner's side of the guest's tests. */

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define DEADLINE	120.0	/* seconds: whoever waits longer has failed */

double
rig_now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec + ts.tv_nsec / 1e9);
}

struct rig *
rig_new(void)
{
	struct rig	*r;
	const char	*tmp;

	ATF_REQUIRE((r = calloc(1, sizeof(*r))) != NULL);
	ATF_REQUIRE((r->rbuf = malloc(4 * GP_MAX_FROM_GUEST)) != NULL);
	umask(022);
	signal(SIGPIPE, SIG_IGN);
	if ((tmp = getenv("SBX_SCRATCH")) == NULL)
		tmp = "/tmp";
	snprintf(r->dir, sizeof(r->dir), "%s/guest.XXXXXX", tmp);
	ATF_REQUIRE(mkdtemp(r->dir) != NULL);
	chmod(r->dir, 0755);
	snprintf(r->run, sizeof(r->run), "%s/run", r->dir);
	snprintf(r->work, sizeof(r->work), "%s/work", r->dir);
	ATF_REQUIRE(mkdir(r->run, 0755) == 0);
	ATF_REQUIRE(mkdir(r->work, 0755) == 0);
	/* Nobody else has this one: limits are counted by it. */
	r->uid = 1800000000 + getpid();
	ATF_REQUIRE(chown(r->work, r->uid, r->uid) == 0);
	r->lfd = r->fd = -1;
	return (r);
}

static const char *
rig_program(const struct rig *r)
{
	static char	 path[256];
	const char	*bin;

	if (r->guest != NULL)
		return (r->guest);
	bin = getenv(r->faults != NULL ? "SBX_FAULTBIN" : "SBX_BIN");
	if (bin == NULL)
		atf_tc_skip("SBX_BIN is not set");
	snprintf(path, sizeof(path), "%s/sandbox-guest", bin);
	return (path);
}

static void
rig_limit(const struct rig *r)
{
	struct rlimit	 rl;

	rl.rlim_cur = rl.rlim_max = r->nproc;
	if (r->nproc != 0 && setrlimit(RLIMIT_NPROC, &rl) == -1)
		err(1, "setrlimit");
	rl.rlim_cur = rl.rlim_max = r->nofile;
	if (r->nofile != 0 && setrlimit(RLIMIT_NOFILE, &rl) == -1)
		err(1, "setrlimit");
}

/* Terminals of its own, as a container has. */
static void
rig_devpts(const struct rig *r)
{
	char	 opts[80];

	snprintf(opts, sizeof(opts), "newinstance,ptmxmode=0666,mode=620,"
	    "max=%d", r->ptys);
	if (r->ptys != 0 && mount("devpts", "/dev/pts", "devpts", 0,
	    opts) == -1)
		err(1, "devpts");
}

/* PID 1 of the new namespace. */
static void
rig_exec(const struct rig *r, const char *prog)
{
	char	 fault[80] = "SANDBOXD_FAULT=";
	char	*env[] = { "PATH=/usr/bin:/bin", "IMAGE=yes", "HOME=/",
		    fault, NULL };
	int	 fd;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("proc", "/proc", "proc", 0, NULL) == -1)
		err(1, "mount");
	rig_devpts(r);
	rig_limit(r);
	if (chdir(r->work) == -1 || setgroups(0, NULL) == -1 ||
	    setresgid(r->uid, r->uid, r->uid) == -1 ||
	    setresuid(r->uid, r->uid, r->uid) == -1)
		err(1, "user");
	if (!r->caps)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if ((fd = open("/dev/null", O_RDWR)) != -1)
		dup2(fd, STDIN_FILENO);
	if (r->faults != NULL)
		strncat(fault, r->faults, sizeof(fault) - strlen(fault) - 1);
	execle(prog, "sandbox-guest", r->run, NULL, env);
	err(1, "%s", prog);
}

/* The process between waits, and takes the guest with it if the test dies. */
void
rig_guest(struct rig *r)
{
	const char	*prog = rig_program(r);
	pid_t		 pid, got;
	int		 p[2], status;

	ATF_REQUIRE(pipe(p) == 0);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(p[0]);
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) == -1)
			err(1, "unshare");
		if ((pid = fork()) == 0) {
			close(p[1]);
			rig_exec(r, prog);
		}
		if (write(p[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		close(p[1]);
		while ((got = waitpid(pid, &status, 0)) == -1 &&
		    errno == EINTR)
			;
		_exit(got == pid && WIFEXITED(status) ?
		    WEXITSTATUS(status) : 200);
	}
	close(p[1]);
	ATF_REQUIRE(read(p[0], &r->pid, sizeof(r->pid)) == sizeof(r->pid));
	close(p[0]);
	ATF_REQUIRE(r->pid > 0);
}

static void
rig_addr(const struct rig *r, struct sockaddr_un *sun, const char *name)
{
	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	snprintf(sun->sun_path, sizeof(sun->sun_path), "%s/%s", r->run, name);
}

void
rig_listen(struct rig *r)
{
	struct sockaddr_un	 tmp, sun;

	rig_addr(r, &tmp, "s.new");
	rig_addr(r, &sun, GUEST_SOCKNAME);
	r->lfd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ATF_REQUIRE(r->lfd != -1);
	ATF_REQUIRE(bind(r->lfd, (struct sockaddr *)&tmp, sizeof(tmp)) == 0);
	ATF_REQUIRE(listen(r->lfd, 5) == 0);
	ATF_REQUIRE(chmod(tmp.sun_path, 0666) == 0);
	ATF_REQUIRE(rename(tmp.sun_path, sun.sun_path) == 0);
}

/* Takes one frame from the buffer, after reading if there is none. */
static int
rig_frame(struct rig *r, struct gp_frame *f, int ms)
{
	struct pollfd	 pfd = { .events = POLLIN };
	ssize_t		 n;
	int		 ret;

	for (;;) {
		ret = gp_get(f, r->rbuf, r->rlen, GP_GUEST);
		ATF_REQUIRE_MSG(ret != -1, "not a frame of the guest's");
		if (ret == 1)
			return (1);
		pfd.fd = r->fd;
		if (r->fd == -1 || poll(&pfd, 1, ms) <= 0)
			return (0);
		n = read(r->fd, r->rbuf + r->rlen,
		    4 * GP_MAX_FROM_GUEST - r->rlen);
		if (n <= 0) {
			r->eof = 1;
			return (0);
		}
		r->rlen += n;
	}
}

static void
rig_consume(struct rig *r, const struct gp_frame *f)
{
	r->rlen -= f->total;
	memmove(r->rbuf, r->rbuf + f->total, r->rlen);
}

void
rig_accept(struct rig *r)
{
	struct gp_frame		 f;
	struct pollfd		 pfd = { .events = POLLIN };
	char			 path[128];

	pfd.fd = r->lfd;
	ATF_REQUIRE_MSG(poll(&pfd, 1, DEADLINE * 1000) == 1,
	    "the guest does not come");
	ATF_REQUIRE((r->fd = accept(r->lfd, NULL, NULL)) != -1);
	close(r->lfd);
	r->lfd = -1;
	snprintf(path, sizeof(path), "%s/" GUEST_SOCKNAME, r->run);
	unlink(path);
	r->rlen = r->eof = r->bye = r->welcomed = r->nstates = 0;
	ATF_REQUIRE(rig_frame(r, &f, DEADLINE * 1000) == 1);
	ATF_REQUIRE_EQ(GP_HELLO, f.type);
	ATF_REQUIRE_EQ(0, gp_decode_hello(&r->hello, &f));
	ATF_CHECK(r->hello.release[0] != '\0');
	r->hello.release = "";
	rig_consume(r, &f);
	ATF_REQUIRE_EQ_MSG(0, r->rlen, "the guest spoke before WELCOME");
}

void
rig_welcome(struct rig *r)
{
	struct gp_welcome	 m = { .version = GP_VERSION };
	uint8_t			 buf[64];

	rig_send(r, buf, gp_encode_welcome(buf, sizeof(buf), &m));
	rig_until(r, &r->welcomed);
	/* What goes between the two is in the first alone. */
	ATF_CHECK(r->hello.nexecs >= (uint32_t)r->nstates);
}

void
rig_boot(struct rig *r)
{
	rig_listen(r);
	rig_guest(r);
	rig_accept(r);
	rig_welcome(r);
}

void
rig_cut(struct rig *r)
{
	if (r->fd != -1)
		close(r->fd);
	r->fd = -1;
	r->rlen = 0;
}

void
rig_again(struct rig *r)
{
	rig_cut(r);
	rig_listen(r);
	rig_accept(r);
	rig_welcome(r);
}

int
rig_wait_guest(struct rig *r)
{
	int	 status;

	ATF_REQUIRE(wait(&status) > 0);
	r->pid = 0;
	return (status);
}

void
rig_end(struct rig *r)
{
	char	 cmd[64];

	if (r->pid > 0) {
		kill(r->pid, SIGKILL);
		rig_wait_guest(r);
	}
	rig_cut(r);
	if (r->lfd != -1)
		close(r->lfd);
	for (const char *const *p = (const char *const []){ "run/s",
	    "run/s.new", NULL }; *p != NULL; p++) {
		snprintf(cmd, sizeof(cmd), "%.40s/%s", r->dir, *p);
		unlink(cmd);
	}
	rmdir(r->run);
	if (fork() == 0) {
		execlp("rm", "rm", "-rf", r->dir, NULL);
		_exit(1);
	}
	wait(NULL);
}

static int
proc_counts(const struct rig *r, const char *pid)
{
	char		 path[64], text[1024], *p;
	ssize_t		 n;
	int		 fd;

	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	if ((fd = open(path, O_RDONLY)) == -1)
		return (0);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return (0);
	text[n] = '\0';
	if (strncmp(text, "Name:\tsandbox-guest\n", 20) == 0 ||
	    strncmp(text, "Name:\tguest-reaper\n", 19) == 0 ||
	    strstr(text, "State:\tZ") != NULL ||
	    (p = strstr(text, "\nUid:\t")) == NULL)
		return (0);
	return ((uid_t)strtoul(p + 6, NULL, 10) == r->uid);
}

int
rig_procs(const struct rig *r)
{
	struct dirent	*d;
	DIR		*dir;
	int		 n = 0;

	ATF_REQUIRE((dir = opendir("/proc")) != NULL);
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			n += proc_counts(r, d->d_name);
	closedir(dir);
	return (n);
}

void
rig_wait_procs(const struct rig *r, int want)
{
	double	 end = rig_now() + DEADLINE;
	int	 n;

	while ((n = rig_procs(r)) != want) {
		ATF_REQUIRE_MSG(rig_now() < end, "%d processes, not %d", n,
		    want);
		usleep(5000);
	}
}

static void
buf_add(struct buf *b, const void *data, size_t len)
{
	while (b->size - b->len < len) {
		b->size = b->size == 0 ? 65536 : 2 * b->size;
		ATF_REQUIRE((b->data = realloc(b->data, b->size)) != NULL);
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

int
buf_is(const struct buf *b, const char *text)
{
	if (b->len == strlen(text) && memcmp(b->data, text, b->len) == 0)
		return (1);
	fprintf(stderr, "have \"%.*s\"\nwant \"%s\"\n", (int)b->len,
	    (const char *)b->data, text);
	return (0);
}

void
file_put(const struct rig *r, const char *name, const char *text, mode_t mode)
{
	char	 path[160];
	FILE	*fp;

	snprintf(path, sizeof(path), "%s/%s", r->work, name);
	ATF_REQUIRE((fp = fopen(path, "w")) != NULL);
	fputs(text, fp);
	fclose(fp);
	ATF_REQUIRE(chmod(path, mode) == 0);
}

static void
recv_output(struct rig *r, uint64_t k, const struct gp_frame *f)
{
	struct gp_output	 m;
	struct job		*j = &r->jobs[k];
	int			 i;

	ATF_REQUIRE_EQ(0, gp_decode_output(&m, f));
	i = m.stream == GP_STDERR;
	ATF_REQUIRE_EQ_MSG(j->out[i].len, m.off, "offset %llu, not %zu",
	    (unsigned long long)m.off, j->out[i].len);
	ATF_REQUIRE_EQ(0, j->ended);
	buf_add(&j->out[i], m.data, m.len);
	ATF_REQUIRE(j->out[i].len - j->acked[i] <= GP_WINDOW);
	if (!j->hold)
		rig_ack(r, k, i);
}

/* "kind name", and of what was renamed its name before. */
static void
recv_changed(struct job *j, const struct gp_frame *f)
{
	struct gp_change	 c;
	const char		*p;
	size_t			 left;
	char			 line[2 * CALL_PATH_MAX + 32];

	ATF_REQUIRE_EQ(0, j->ended);
	ATF_REQUIRE_EQ(0, gp_decode_changed(&j->changed, f));
	j->nchanged++;
	snprintf(j->why, sizeof(j->why), "%s", j->changed.text);
	j->list.len = 0;
	p = j->changed.list;
	left = j->changed.listlen;
	while (gp_change_next(&c, &p, &left) == 1) {
		snprintf(line, sizeof(line), "%s %s%s%s\n",
		    gp_change_name(c.kind), c.name, *c.from != '\0' ?
		    " " : "", c.from);
		buf_add(&j->list, line, strlen(line));
	}
	j->changed.text = j->changed.list = NULL;
}

static void
recv_exit(struct job *j, const struct gp_frame *f)
{
	ATF_REQUIRE_EQ(0, gp_decode_exit(&j->ex, f));
	ATF_CHECK_EQ(j->out[0].len, j->ex.out_len);
	ATF_CHECK_EQ(j->out[1].len, j->ex.err_len);
	j->ended = 1;
	j->nexits++;
}

static void
recv_state(struct rig *r, const struct gp_frame *f)
{
	struct gp_state	 m;

	ATF_REQUIRE_EQ(0, gp_decode_state(&m, f));
	if (!r->welcomed) {
		ATF_REQUIRE(r->nstates < GP_MAX_EXECS);
		r->states_k[r->nstates] = f->k;
		r->states[r->nstates++] = m;
		return;
	}
	r->jobs[f->k].state = m;
	r->jobs[f->k].known = 1;
}

static void
rig_dispatch(struct rig *r, const struct gp_frame *f)
{
	struct job		*j = &r->jobs[f->k];
	struct gp_input_ack	 ia;
	struct gp_states_end	 se;
	struct gp_ping		 pong;

	ATF_REQUIRE(f->k < JOBS);
	switch (f->type) {
	case GP_STATE:
		recv_state(r, f);
		break;
	case GP_STATES_END:
		ATF_REQUIRE_EQ(0, gp_decode_states_end(&se, f));
		ATF_CHECK_EQ(se.count, (uint32_t)r->nstates);
		r->welcomed = 1;
		break;
	case GP_STARTED:
		ATF_REQUIRE_EQ(0, gp_decode_started(&j->st, f));
		j->started++;
		break;
	case GP_NOT_STARTED:
		ATF_REQUIRE_EQ(0, gp_decode_not_started(&j->ns, f));
		j->not_started = 1;
		break;
	case GP_OUTPUT:
		recv_output(r, f->k, f);
		break;
	case GP_INPUT_ACK:
		ATF_REQUIRE_EQ(0, gp_decode_input_ack(&ia, f));
		ATF_REQUIRE(ia.off >= j->in_acked);
		j->in_acked = ia.off;
		j->in_flags = ia.flags;
		break;
	case GP_CHANGED:
		recv_changed(j, f);
		break;
	case GP_EXIT:
		recv_exit(j, f);
		break;
	case GP_BACKGROUND:
		ATF_REQUIRE_EQ(0, gp_decode_background(&j->bg, f));
		j->nbg++;
		break;
	case GP_PONG:
		ATF_REQUIRE_EQ(0, gp_decode_pong(&pong, f));
		r->pongs++;
		break;
	case GP_BYE:
		ATF_REQUIRE_EQ(0, gp_decode_bye(f));
		r->bye = 1;
		break;
	default:
		atf_tc_fail("unexpected %s", gp_type_name(f->type));
	}
}

int
rig_pump(struct rig *r, int ms)
{
	struct gp_frame	 f;

	if (rig_frame(r, &f, ms) == 0)
		return (0);
	rig_dispatch(r, &f);
	rig_consume(r, &f);
	return (1);
}

void
rig_until_at(struct rig *r, const int *flag, int line)
{
	double	 end = rig_now() + DEADLINE;

	while (!*flag) {
		rig_pump(r, 1000);
		ATF_REQUIRE_MSG(!r->eof || *flag, "line %d: the guest hung up",
		    line);
		ATF_REQUIRE_MSG(rig_now() < end, "line %d: waited too long",
		    line);
	}
}

void
rig_send(struct rig *r, const void *data, ssize_t len)
{
	const uint8_t	*p = data;
	struct pollfd	 pfd;
	ssize_t		 n;

	ATF_REQUIRE(len > 0);
	while (len > 0) {
		n = send(r->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n == -1 && errno == EAGAIN) {
			/* It may wait for us to read. */
			pfd.fd = r->fd;
			pfd.events = POLLOUT;
			if (poll(&pfd, 1, 100) == 0)
				rig_pump(r, 0);
			continue;
		}
		if (n == -1)
			return;		/* end of file comes by reading */
		p += n;
		len -= n;
	}
}

const char	*rig_scope;

void
rig_start_v(struct rig *r, uint64_t k, uint32_t flags, uint32_t timeout,
    uint32_t grace, const char *dir, char *const *argv, char *const *env)
{
	static char		 args[GP_MAX_STRINGS], envs[GP_MAX_STRINGS];
	static uint8_t		 buf[GP_MAX_FROM_RUNNER];
	struct gp_start		 m;
	ssize_t			 n;

	memset(&m, 0, sizeof(m));
	m.flags = flags | (rig_scope != NULL ? GP_START_SCOPE : 0);
	m.scope = rig_scope;
	m.timeout = timeout;
	m.grace = grace;
	m.args = args;
	m.env = envs;
	m.dir = dir;
	m.rows = 24;		/* of a terminal alone */
	m.cols = 80;
	ATF_REQUIRE((n = gp_pack(args, sizeof(args), argv, &m.argc)) != -1);
	m.argslen = n;
	ATF_REQUIRE((n = gp_pack(envs, sizeof(envs), env, &m.envc)) != -1);
	m.envlen = n;
	rig_send(r, buf, gp_encode_start(buf, sizeof(buf), k, &m));
}

void
rig_sh(struct rig *r, uint64_t k, uint32_t flags, uint32_t timeout,
    uint32_t grace, const char *cmd)
{
	char	*argv[] = { "sh", "-c", (char *)cmd, NULL };

	rig_start_v(r, k, flags, timeout, grace, "", argv, NULL);
}

struct job *
rig_run(struct rig *r, uint64_t k, const char *cmd)
{
	rig_sh(r, k, 0, 0, 0, cmd);
	rig_until(r, &r->jobs[k].ended);
	rig_forget(r, k);
	return (&r->jobs[k]);
}

void
rig_resume(struct rig *r, uint64_t k)
{
	struct gp_resume	 m;
	uint8_t			 buf[64];

	r->jobs[k].known = 0;
	m.out = r->jobs[k].acked[0] = r->jobs[k].out[0].len;
	m.err = r->jobs[k].acked[1] = r->jobs[k].out[1].len;
	rig_send(r, buf, gp_encode_resume(buf, sizeof(buf), k, &m));
}

void
rig_ack(struct rig *r, uint64_t k, int i)
{
	struct gp_ack	 m;
	uint8_t		 buf[64];

	m.stream = i == 0 ? GP_STDOUT : GP_STDERR;
	m.off = r->jobs[k].acked[i] = r->jobs[k].out[i].len;
	rig_send(r, buf, gp_encode_ack(buf, sizeof(buf), k, &m));
}

/* One frame of input from off, within the window.  What it took. */
size_t
rig_input(struct rig *r, uint64_t k, const uint8_t *data, size_t len,
    uint64_t off)
{
	static uint8_t	 buf[GP_MAX_FROM_RUNNER];
	struct gp_input	 m;
	size_t		 room;

	room = GP_WINDOW - (off - r->jobs[k].in_acked);
	if (len > room)
		len = room;
	if (len > GP_MAX_DATA)
		len = GP_MAX_DATA;
	if (len == 0)
		return (0);
	m.off = off;
	m.data = data;
	m.len = len;
	rig_send(r, buf, gp_encode_input(buf, sizeof(buf), k, &m));
	return (len);
}

void
rig_input_end(struct rig *r, uint64_t k, uint64_t total)
{
	struct gp_input_end	 m = { .total = total };
	uint8_t			 buf[64];

	rig_send(r, buf, gp_encode_input_end(buf, sizeof(buf), k, &m));
}

void
rig_signal(struct rig *r, uint64_t k, int signo, uint32_t flags)
{
	struct gp_signal	 m = { .signo = signo, .flags = flags };
	uint8_t			 buf[64];

	rig_send(r, buf, gp_encode_signal(buf, sizeof(buf), k, &m));
}

void
rig_resize(struct rig *r, uint64_t k, uint32_t rows, uint32_t cols)
{
	struct gp_resize	 m = { .rows = rows, .cols = cols };
	uint8_t			 buf[64];

	rig_send(r, buf, gp_encode_resize(buf, sizeof(buf), k, &m));
}

void
rig_cancel(struct rig *r, uint64_t k, uint32_t grace)
{
	struct gp_cancel	 m = { .grace = grace };
	uint8_t			 buf[64];

	rig_send(r, buf, gp_encode_cancel(buf, sizeof(buf), k, &m));
}

void
rig_forget(struct rig *r, uint64_t k)
{
	uint8_t	 buf[64];

	rig_send(r, buf, gp_encode_forget(buf, sizeof(buf), k));
}

void
rig_stop(struct rig *r, uint32_t grace)
{
	struct gp_stop	 m = { .grace = grace };
	uint8_t		 buf[64];

	rig_send(r, buf, gp_encode_stop(buf, sizeof(buf), &m));
}

void
rig_ping(struct rig *r)
{
	struct gp_ping	 m = { .cookie = 4711 };
	uint8_t		 buf[64];

	rig_send(r, buf, gp_encode_ping(buf, sizeof(buf), &m));
}

void
rig_sync(struct rig *r)
{
	r->pongs = 0;
	rig_ping(r);
	rig_until(r, &r->pongs);
}
