/*
 * Who makes a process crash.  Before it takes up a peer's bytes the frontend
 * writes the peer's user, the runner the sandbox's number into a page that
 * the parent can read; what stands there when it dies of a fault of its own
 * is whom it served.  The second time for the same one he is shut out: one
 * peer's crash must not become everybody's.
 */

#include <sys/mman.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "blame.h"
#include "log.h"
#include "proc.h"

#define PEERS_MAX	64		/* the one longest ago gives way */
#define WINDOW		(600 * 1000)	/* ms between crashes that count */
#define OUT_FIRST	(60 * 1000)	/* ms, doubled each time */
#define OUT_MOST	(60 * 60 * 1000)

struct peer {
	enum role	 role;		/* ROLE_PARENT: a free place */
	uint64_t	 who;
	uint64_t	 last;
	uint64_t	 until;		/* a user: shut out until then */
	uint32_t	 crashes;
	int		 tell;		/* a sandbox: to be told */
};

static struct peer	 peers[PEERS_MAX];

int
blame_page(void)
{
	uint64_t	 nobody = PROC_NOBODY;
	int		 fd;

	if ((fd = memfd_create("sandboxd", MFD_CLOEXEC)) == -1)
		return (-1);
	if (ftruncate(fd, PROC_PAGE_SIZE) == -1 ||
	    pwrite(fd, &nobody, sizeof(nobody), 0) != sizeof(nobody)) {
		close(fd);
		return (-1);
	}
	return (fd);
}

/* By reading, not by a map: its owner may have cut it off. */
uint64_t
blame_read(int fd)
{
	uint64_t	 who;

	if (pread(fd, &who, sizeof(who), 0) != sizeof(who))
		return (PROC_NOBODY);
	return (who);
}

/* The call that its filter ended it for, plus one; 0: it did not say. */
uint64_t
blame_forbidden(int fd)
{
	uint64_t	 call;

	if (pread(fd, &call, sizeof(call), sizeof(call)) != sizeof(call))
		return (0);
	return (call);
}

/* KILL and TERM come from outside, and say nothing of whom it served. */
int
blame_is_crash(int sig)
{
	return (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL ||
	    sig == SIGFPE || sig == SIGABRT || sig == SIGSYS ||
	    sig == SIGTRAP);
}

static struct peer *
peer_find(enum role role, uint64_t who)
{
	size_t	 i;

	for (i = 0; i < PEERS_MAX; i++)
		if (peers[i].role == role && peers[i].who == who)
			return (&peers[i]);
	return (NULL);
}

static struct peer *
peer_get(enum role role, uint64_t who)
{
	struct peer	*p, *old = &peers[0];
	size_t		 i;

	if ((p = peer_find(role, who)) != NULL)
		return (p);
	for (i = 0; i < PEERS_MAX; i++)
		if (peers[i].last < old->last)
			old = &peers[i];
	memset(old, 0, sizeof(*old));
	old->role = role;
	old->who = who;
	return (old);
}

/* The role has crashed over a peer, at a time in ms. */
void
blame_crash(enum role role, uint64_t who, uint64_t now)
{
	struct peer	*p;
	uint64_t	 out;

	if (who == PROC_NOBODY ||
	    (role != ROLE_FRONTEND && role != ROLE_RUNNER))
		return;
	p = peer_get(role, who);
	if (p->crashes > 0 && now - p->last > WINDOW)
		p->crashes = 0;
	p->crashes++;
	p->last = now;
	if (role == ROLE_RUNNER) {
		log_warnx("the runner crashed over sandbox number %" PRIu64
		    "%s", who, p->crashes > 1 ? " again" : "");
		p->tell = p->crashes > 1;
		return;
	}
	log_warnx("the frontend crashed over a client of uid %" PRIu64 "%s",
	    who, p->crashes > 1 ? " again" : "");
	/* Root has other ways to stop the service. */
	if (p->crashes < 2 || who == 0)
		return;
	out = p->crashes - 2 > 6 ? OUT_MOST :
	    (uint64_t)OUT_FIRST << (p->crashes - 2);
	p->until = now + (out > OUT_MOST ? OUT_MOST : out);
	log_warnx("uid %" PRIu64 " is shut out for %" PRIu64 " seconds", who,
	    (p->until - now) / 1000);
}

int
blame_is_out(uint64_t uid, uint64_t now)
{
	const struct peer	*p;

	return ((p = peer_find(ROLE_FRONTEND, uid)) != NULL &&
	    p->until > now);
}

/* The next sandbox that is to be failed; 1 if there is one. */
int
blame_next(uint64_t *n)
{
	size_t	 i;

	for (i = 0; i < PEERS_MAX; i++)
		if (peers[i].tell) {
			peers[i].tell = 0;
			*n = peers[i].who;
			return (1);
		}
	return (0);
}
