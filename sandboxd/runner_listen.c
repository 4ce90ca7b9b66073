/*
 * Sandboxes, and the sockets on which their guests come in.
 *
 * A guest is known by the directory of its socket and by the process that
 * connects: the first one, before any payload can run, is the guest, and
 * whoever else connects later is sent away.  The socket exists only while a
 * guest is awaited.  It gets its name last, so that the name means that
 * connect(2) works.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"
#include "fault.h"
#include "log.h"
#include "rights.h"
#include "runner.h"

#define LISTEN_BACKLOG	8
#define LISTEN_RUSH	16	/* strangers in a row before a pause */
#define LISTEN_FLAPS	16	/* short connections before one */
#define LISTEN_PAUSE_MS	100

static struct boxes	 boxes = RB_INITIALIZER(&boxes);

static void	 box_accept(int, short, void *);
static void	 box_resume(int, short, void *);

int
box_cmp(struct box *a, struct box *b)
{
	return (a->n < b->n ? -1 : a->n > b->n);
}

RB_GENERATE(boxes, box, entry, box_cmp)

struct box *
box_find(uint64_t n)
{
	struct box	 key;

	key.n = n;
	return (RB_FIND(boxes, &boxes, &key));
}

struct box *
box_new(uint64_t n, uint32_t owner)
{
	struct box	*box;

	if ((box = calloc(1, sizeof(*box))) == NULL)
		fatal("%s", __func__);
	box->n = n;
	box->owner = owner;
	box->lfd = box->pidfd = -1;
	RB_INIT(&box->execs);
	TAILQ_INIT(&box->calls);
	evtimer_set(&box->pause, box_resume, box);
	silent_init(box);
	RB_INSERT(boxes, &boxes, box);
	return (box);
}

/* Ends what readers wait for, too: nothing more comes of this sandbox. */
void
box_free(struct box *box)
{
	struct exec	*ex;

	box_unlisten(box);
	life_end(box);
	silent_end(box);
	if (box->guest != NULL)
		guest_close(box->guest);
	call_guest_gone(box, 1);
	while ((ex = RB_ROOT(&box->execs)) != NULL)
		exec_free(ex);
	RB_REMOVE(boxes, &boxes, box);
	free(box);
}

static void
box_socket_name(const struct box *box, const char *name,
    struct sockaddr_un *sun)
{
	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	snprintf(sun->sun_path, sizeof(sun->sun_path), "sock/%u/%" PRIu64
	    "/%s", box->owner, box->n, name);
}

/* Listens unless it does; on failure -1 and what failed in `why'. */
int
box_listen(struct box *box, char *why, size_t size)
{
	struct sockaddr_un	 tmp, sun;
	int			 fd;

	if (box->lfd != -1)
		return (0);
	box_socket_name(box, GUEST_SOCKNAME ".new", &tmp);
	box_socket_name(box, GUEST_SOCKNAME, &sun);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1) {
		snprintf(why, size, "socket: %s", strerror(errno));
		return (-1);
	}
	if (!confine_lacks("passrights"))
		rights_refuse(fd);
	fault("runner.listen.before");
	(void)unlink(tmp.sun_path);
	if (bind(fd, (struct sockaddr *)&tmp, sizeof(tmp)) == -1 ||
	    listen(fd, LISTEN_BACKLOG) == -1 ||
	    chmod(tmp.sun_path, 0666) == -1 ||
	    rename(tmp.sun_path, sun.sun_path) == -1) {
		snprintf(why, size, "%s: %s", sun.sun_path, strerror(errno));
		close(fd);
		return (-1);
	}
	fault("runner.listen.after");
	box->lfd = fd;
	event_set(&box->lev, fd, EV_READ | EV_PERSIST, box_accept, box);
	event_add(&box->lev, NULL);
	return (0);
}

void
box_unlisten(struct box *box)
{
	struct sockaddr_un	 sun;

	evtimer_del(&box->pause);
	if (box->lfd == -1)
		return;
	event_del(&box->lev);
	rights_close(box->lfd);
	box->lfd = -1;
	box_socket_name(box, GUEST_SOCKNAME, &sun);
	if (unlink(sun.sun_path) == -1 && errno != ENOENT)
		log_warn("unlink %s", sun.sun_path);
}

static void
box_pause(struct box *box)
{
	struct timeval	 tv = { 0, LISTEN_PAUSE_MS * 1000 };

	event_del(&box->lev);
	evtimer_add(&box->pause, &tv);
}

/*
 * The guest's connection has ended: it comes back, or the Engine tells that
 * it died.  One that comes and goes all the time has to wait.
 */
void
box_await(struct box *box)
{
	char	 why[256];

	if (box_listen(box, why, sizeof(why)) == -1) {
		log_warnx("sandbox %" PRIu64 ": cannot listen: %s", box->n,
		    why);
		return;
	}
	if (box->flaps > LISTEN_FLAPS)
		box_pause(box);
	else
		event_add(&box->lev, NULL);
}

static void
box_resume(int fd, short event, void *arg)
{
	struct box	*box = arg;

	(void)fd;
	(void)event;
	if (box->lfd != -1 && box->guest == NULL)
		event_add(&box->lev, NULL);
}

/*
 * A process of the sandbox that is not its guest.  It may connect as fast
 * as it can, so after some it waits, and the guest behind it with it.
 */
static void
box_stranger(struct box *box, uint32_t pid)
{
	box->strangers++;
	if ((box->strangers & (box->strangers - 1)) == 0)
		log_warnx("sandbox %" PRIu64 ": process %u connected in place "
		    "of the guest %u (%" PRIu64 " times)", box->n, pid,
		    box->pid, box->strangers);
	if (box->strangers % LISTEN_RUSH == 0)
		box_pause(box);
}

static void
box_accept(int lfd, short event, void *arg)
{
	struct box	*box = arg;
	struct ucred	 cred;
	socklen_t	 len = sizeof(cred);
	int		 fd;

	(void)event;
	fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd == -1) {
		if (errno == EMFILE || errno == ENFILE) {
			log_warn("sandbox %" PRIu64 ": accept", box->n);
			box_pause(box);
		}
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1 ||
	    len != sizeof(cred) || cred.pid <= 0) {
		rights_close(fd);
		return;
	}
	/* Who has the number of one that is dead is another one too. */
	if (box->dead || (box->pid != 0 && (uint32_t)cred.pid != box->pid)) {
		rights_close(fd);
		box_stranger(box, cred.pid);
		return;
	}
	/* One at a time; it has until its deadline to say hello. */
	event_del(&box->lev);
	box->guest = guest_new(box, fd, cred.pid);
}
