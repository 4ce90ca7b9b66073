/*
 * The common start of every child.  Its identity comes from the parent, as
 * numbers and an open directory, so that a child needs no path, no user
 * database and no right to find out who it is.
 */

#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event.h>

#include "alloc.h"
#include "log.h"
#include "proc.h"
#include "sandboxd.h"
#include "spoil.h"

static struct chan		*log_chan;
static volatile uint64_t	*page;

union fd_control {
	struct cmsghdr	 hdr;
	char		 buf[CMSG_SPACE(sizeof(int))];
};

int
proc_send_ids(int fd, const struct proc_ids *ids)
{
	union fd_control	 c;
	struct msghdr		 msg;
	struct iovec		 iov;
	struct cmsghdr		*cmsg;
	ssize_t			 n;

	memset(&msg, 0, sizeof(msg));
	memset(&c, 0, sizeof(c));
	iov.iov_base = (void *)(uintptr_t)ids;
	iov.iov_len = sizeof(*ids);
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	if (ids->root != -1) {
		msg.msg_control = &c;
		msg.msg_controllen = sizeof(c.buf);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &ids->root, sizeof(int));
	}
	while ((n = sendmsg(fd, &msg, MSG_NOSIGNAL)) == -1 && errno == EINTR)
		;
	/* The pipe is empty and holds more than this: never a part. */
	if (n != (ssize_t)sizeof(*ids)) {
		if (n != -1)
			errno = EMSGSIZE;
		return (-1);
	}
	return (0);
}

void
proc_recv_ids(int fd, struct proc_ids *ids)
{
	union fd_control	 c;
	struct msghdr		 msg;
	struct iovec		 iov;
	struct cmsghdr		*cmsg;
	ssize_t			 n;

	memset(&msg, 0, sizeof(msg));
	memset(&c, 0, sizeof(c));
	iov.iov_base = ids;
	iov.iov_len = sizeof(*ids);
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = &c;
	msg.msg_controllen = sizeof(c.buf);
	while ((n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC)) == -1 &&
	    errno == EINTR)
		;
	if (n == -1)
		fatal("%s: recvmsg", __func__);
	if (n != (ssize_t)sizeof(*ids) || ids->ngroups > PROC_GROUPS_MAX ||
	    ids->uid == 0 || ids->gid == 0)
		fatalx("%s: not started by sandboxd", __func__);
	ids->root = -1;
	if ((cmsg = CMSG_FIRSTHDR(&msg)) != NULL &&
	    cmsg->cmsg_level == SOL_SOCKET &&
	    cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&ids->root, CMSG_DATA(cmsg), sizeof(int));
	if (ids->page) {
		if ((page = mmap(NULL, PROC_PAGE_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED, PROC_PAGE_FD, 0)) == MAP_FAILED)
			fatal("%s: mmap", __func__);
		close(PROC_PAGE_FD);
	}
	ids->engine[sizeof(ids->engine) - 1] = '\0';
	spoil_early(ids);
}

void
proc_serve(uint64_t who)
{
	if (page != NULL)
		*page = who;
}

/* Async-signal-safe; the first word is whom we serve. */
void
proc_forbidden(int call)
{
	if (page != NULL)
		page[1] = (uint64_t)(uint32_t)call + 1;
}

void
proc_ready(struct chan *ch)
{
	const struct proc_layers	*l = sandbox_layers();
	struct msg_ready		 m;

	memset(&m, 0, sizeof(m));
	m.layers = l->mask;
	m.landlock = l->landlock;
	pipe_send(ch, MSG_READY, 0, 0, 0, -1, &m);
}

void
proc_drop(const struct proc_ids *ids)
{
	gid_t		 groups[PROC_GROUPS_MAX];
	uid_t		 ruid, euid, suid;
	gid_t		 rgid, egid, sgid;
	uint32_t	 i;
	int		 cap;

	umask(077);
	if (!spoils("Max core file size"))
		sandbox_rlimit(RLIMIT_CORE, 0);
	sandbox_rlimit(RLIMIT_NOFILE, ids->nofile);
#ifndef ASAN
	/* A sanitizer maps terabytes, of which it touches little. */
	if (ids->memory != 0)
		sandbox_rlimit(RLIMIT_AS, ids->memory);
#endif
	if (ids->root != -1) {
		/*
		 * The directory is searchable by its owner alone, and root
		 * here has no capability to pass over that.
		 */
		(void)setfsgid(ids->gid);
		(void)setfsuid(ids->uid);
		if (fchdir(ids->root) == -1)
			fatal("%s: fchdir", __func__);
		if (chroot(".") == -1)
			fatal("%s: chroot", __func__);
		close(ids->root);
	}
	if (chdir("/") == -1)
		fatal("%s: chdir", __func__);
	/* While CAP_SETPCAP is there; EINVAL: past the last of this kernel. */
	for (cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		if (spoils("CapBnd") && cap == 1)
			break;
	if (errno != EINVAL && !spoils("CapBnd"))
		fatal("%s: capability %d", __func__, cap);
	for (i = 0; i < ids->ngroups; i++)
		groups[i] = ids->groups[i];
	if (setgroups(ids->ngroups, groups) == -1 ||
	    setresgid(ids->gid, ids->gid, ids->gid) == -1 ||
	    setresuid(ids->uid, ids->uid, ids->uid) == -1)
		fatal("%s: cannot become uid %u", __func__, ids->uid);
	if (getresuid(&ruid, &euid, &suid) == -1 ||
	    getresgid(&rgid, &egid, &sgid) == -1 ||
	    ruid != ids->uid || euid != ids->uid || suid != ids->uid ||
	    rgid != ids->gid || egid != ids->gid || sgid != ids->gid ||
	    setuid(0) != -1)
		fatalx("%s: uid %u has not stuck", __func__, ids->uid);
	/* The change of the user has cleared the first; both come last. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("%s: prctl", __func__);
	if (getppid() != (pid_t)ids->ppid)
		fatalx("%s: the parent has gone", __func__);
}

/* An event that could not be added would be waited for without an end. */
void
proc_event_init(void)
{
	event_set_mem_functions(alloc_malloc, alloc_realloc, free);
	event_init();
}

void
proc_signals(void (*handler)(int, short, void *))
{
	static struct event	 ev[3];
	static const int	 sigs[] = { SIGTERM, SIGINT, SIGHUP };
	size_t			 i;

	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		signal_set(&ev[i], sigs[i], handler, NULL);
		if (signal_add(&ev[i], NULL) == -1)
			fatal("%s: signal_add", __func__);
	}
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    signal(SIGUSR1, SIG_IGN) == SIG_ERR ||
	    signal(SIGUSR2, SIG_IGN) == SIG_ERR)
		fatal("%s: signal", __func__);
}

/*
 * Sent at once: the line of a process that is about to die must be out, and
 * a parent that does not read loses lines, not the child.
 */
static void
proc_log_line(int priority, const char *line)
{
	const struct msg_def	*def = msg_def(MSG_LOG);
	struct msg_log		 m;
	msgpack_sbuffer		 sb;
	char			 text[4096];

	if (log_chan == NULL || log_chan->broken)
		return;
	strlcpy(text, line, sizeof(text));
	m.priority = (uint32_t)priority;
	m.text = text;
	msgpack_sbuffer_init(&sb);
	if (msg_encode_array(&sb, def, &m) == 0 &&
	    chan_send(log_chan, MSG_LOG, 0, 0, 0, -1, sb.data, sb.size) == 0)
		(void)chan_flush(log_chan);
	msgpack_sbuffer_destroy(&sb);
}

void
proc_log(struct chan *ch)
{
	log_chan = ch;
	log_sethook(ch != NULL ? proc_log_line : NULL);
}
