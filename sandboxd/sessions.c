/*
 * Clients, as the parent knows them: by the kernel's word, and by a copy of
 * their socket that it never reads.  The copy says when a client has hung up,
 * so that nobody can go on in the name of one who is not there any more.
 *
 * A session is announced to the store before the frontend gets its socket:
 * the descriptor waits here until the announcement has left.
 */

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/tree.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event.h>

#include "blame.h"
#include "confine.h"
#include "imsg.h"
#include "log.h"
#include "parent.h"
#include "rights.h"

#define LISTEN_BACKLOG	128
#define HUPS_MAX	64		/* told in one turn */
#define PASS_MAX	4096	/* bytes that wait for the frontend */
#define ROOT_RESERVE	8		/* root comes in past the limits */

struct session {
	RB_ENTRY(session)	 tree;
	TAILQ_ENTRY(session)	 wait;
	uint64_t		 id;
	uid_t			 uid;
	gid_t			 gid;
	pid_t			 pid;
	int			 fd;		/* never read */
	int			 pass;		/* for the frontend, or -1 */
	uint64_t		 mark;		/* told once this is sent */
	struct rights		 rights;	/* as the store has them */
	struct bound		 bounds[LIMIT_MAX];
};

static RB_HEAD(sessions, session)	 sessions = RB_INITIALIZER(&sessions);
static TAILQ_HEAD(, session)		 waiting =
    TAILQ_HEAD_INITIALIZER(waiting);
static size_t				 nsessions;
static int				 listener = -1;
static int				 hups = -1;
static struct stat			 listener_st;
static struct event			 ev_accept, ev_hup, ev_pass, ev_pause,
					 ev_room;

static int
session_cmp(const struct session *a, const struct session *b)
{
	return (a->id < b->id ? -1 : a->id > b->id);
}

RB_PROTOTYPE(sessions, session, tree, session_cmp)
RB_GENERATE(sessions, session, tree, session_cmp)

static struct session *
session_find(uint64_t id)
{
	struct session	 key;

	key.id = id;
	return (RB_FIND(sessions, &sessions, &key));
}

int
sessions_may(uint64_t id, enum right r)
{
	const struct session	*s;

	return ((s = session_find(id)) != NULL && s->rights.own & 1U << r);
}

/* A socket that nobody answers on is what a dead daemon has left. */
static int
socket_clear(const struct sockaddr_un *sun)
{
	struct stat	 st;
	int		 fd, ret;

	if (lstat(sun->sun_path, &st) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (!S_ISSOCK(st.st_mode)) {
		errno = EEXIST;
		return (-1);
	}
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return (-1);
	ret = connect(fd, (const struct sockaddr *)sun, sizeof(*sun));
	if (ret == -1 && errno != ECONNREFUSED && errno != EAGAIN) {
		close(fd);
		return (-1);
	}
	close(fd);
	if (ret == 0 || errno == EAGAIN) {
		errno = EADDRINUSE;
		return (-1);
	}
	return (unlink(sun->sun_path));
}

/* The directory is made only below one that is there, as /run is. */
static void
socket_directory(const char *path)
{
	char	 dir[CONF_PATH_MAX], *slash;

	strlcpy(dir, path, sizeof(dir));
	if ((slash = strrchr(dir, '/')) == NULL || slash == dir)
		return;
	*slash = '\0';
	if (mkdir(dir, 0755) == 0)
		(void)chmod(dir, 0755);
}

/* The socket that was left to us, if it is the one that is meant. */
static int
socket_take(const struct sockaddr_un *sun, int left)
{
	struct sockaddr_un	 is;
	socklen_t		 len = sizeof(is);
	int			 on = 0;
	socklen_t		 nlen = sizeof(on);

	memset(&is, 0, sizeof(is));
	if (getsockname(left, (struct sockaddr *)&is, &len) == -1 ||
	    is.sun_family != AF_UNIX ||
	    strcmp(is.sun_path, sun->sun_path) != 0 ||
	    getsockopt(left, SOL_SOCKET, SO_ACCEPTCONN, &on, &nlen) == -1 ||
	    !on || lstat(sun->sun_path, &listener_st) == -1 ||
	    !S_ISSOCK(listener_st.st_mode) ||
	    fcntl(left, F_SETFD, FD_CLOEXEC) == -1)
		return (-1);
	listener = left;
	return (0);
}

int
sessions_listener(void)
{
	return (listener);
}

/* Who connects from now on waits, and nothing is told of who goes. */
void
sessions_pause(void)
{
	event_del(&ev_accept);
	event_del(&ev_room);
	evtimer_del(&ev_pause);
}

int
sessions_open(const struct config *conf, int left)
{
	struct sockaddr_un	 sun;
	mode_t			 old;
	int			 fd, ret;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (strlcpy(sun.sun_path, conf->socket, sizeof(sun.sun_path)) >=
	    sizeof(sun.sun_path)) {
		log_warnx("socket %s: too long", conf->socket);
		return (-1);
	}
	if (left != -1) {
		if (socket_take(&sun, left) == 0)
			return (0);
		close(left);
	}
	socket_directory(conf->socket);
	if (socket_clear(&sun) == -1) {
		if (errno == EADDRINUSE)
			log_warnx("socket %s: another daemon answers on it",
			    conf->socket);
		else
			log_warn("socket %s", conf->socket);
		return (-1);
	}
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1) {
		log_warn("socket %s", conf->socket);
		return (-1);
	}
	/* Nobody gets in before owner and mode are what they should be. */
	if (!confine_lacks("passrights"))
		rights_refuse(fd);
	old = umask(0777);
	ret = bind(fd, (struct sockaddr *)&sun, sizeof(sun));
	umask(old);
	if (ret == -1 || (conf->socket_group[0] != '\0' &&
	    chown(conf->socket, 0, conf->socket_gid) == -1) ||
	    chmod(conf->socket, conf->socket_group[0] != '\0' ? 0660 :
	    0600) == -1 || lstat(conf->socket, &listener_st) == -1 ||
	    listen(fd, LISTEN_BACKLOG) == -1) {
		log_warn("socket %s", conf->socket);
		close(fd);
		return (-1);
	}
	listener = fd;
	return (0);
}

static void
session_free(struct session *s)
{
	if (s->pass != -1) {
		TAILQ_REMOVE(&waiting, s, wait);
		close(s->pass);
	}
	/* The frontend's copy keeps it in the set if it is not taken out. */
	(void)epoll_ctl(hups, EPOLL_CTL_DEL, s->fd, NULL);
	rights_close(s->fd);
	RB_REMOVE(sessions, &sessions, s);
	nsessions--;
	free(s);
}

static void
on_hup(int fd, short event, void *arg)
{
	struct epoll_event	 evs[HUPS_MAX];
	struct session		*s;
	int			 i, n;

	(void)event;
	(void)arg;
	if ((n = epoll_wait(fd, evs, HUPS_MAX, 0)) == -1) {
		if (errno != EINTR)
			log_warn("%s: epoll_wait", __func__);
		return;
	}
	for (i = 0; i < n; i++) {
		if ((s = session_find(evs[i].data.u64)) == NULL)
			continue;
		parent_send(ROLE_STORE, MSG_SESSION_CLOSED, 0, s->id, 0, -1,
		    NULL);
		session_free(s);
	}
}

/*
 * A session is forgotten when its client has hung up, also if the frontend
 * has not taken it yet: so who comes and goes is not bounded by their number,
 * but by what the frontend takes.
 */
static void
sessions_room(int fd, short event, void *arg)
{
	struct child	*fe = &env.child[ROLE_FRONTEND];

	(void)fd;
	(void)event;
	(void)arg;
	if (listener == -1)
		return;
	if (fe->open && chan_flush(&fe->ch) == -1)
		fe->ch.broken = 1;
	if (!fe->open || fe->ch.broken || fe->ch.queued <= PASS_MAX) {
		event_add(&ev_accept, NULL);
		return;
	}
	event_del(&ev_accept);
	event_set(&ev_room, fe->ch.fd, EV_WRITE, sessions_room, NULL);
	event_add(&ev_room, NULL);
}

/* Those whose announcement has left the queue towards the store. */
static void
sessions_pass(int fd, short event, void *arg)
{
	struct child		*store = &env.child[ROLE_STORE];
	struct msg_client	 m;
	struct session		*s;

	(void)event;
	(void)arg;
	while ((s = TAILQ_FIRST(&waiting)) != NULL) {
		if (!store->open || !chan_sent(&store->ch, s->mark))
			break;
		TAILQ_REMOVE(&waiting, s, wait);
		fd = s->pass;
		s->pass = -1;
		memset(&m, 0, sizeof(m));
		m.uid = s->uid;
		parent_send(ROLE_FRONTEND, MSG_CLIENT, 0, s->id, 0, fd, &m);
	}
	if (env.child[ROLE_FRONTEND].ch.queued > PASS_MAX &&
	    !event_pending(&ev_room, EV_WRITE, NULL))
		sessions_room(-1, 0, NULL);
	if (s != NULL && store->open && !event_pending(&ev_pass, EV_WRITE,
	    NULL)) {
		event_set(&ev_pass, store->ch.fd, EV_WRITE, sessions_pass,
		    NULL);
		event_add(&ev_pass, NULL);
	}
}

/*
 * One constant answer to one who cannot be served.  The socket is new, so
 * its buffer takes it; nothing is read.
 */
static void
refuse(int fd, enum code code, const char *text)
{
	struct proto_error	 m;
	struct imsgbuf		 buf;
	msgpack_sbuffer		 sb;

	memset(&m, 0, sizeof(m));
	strlcpy(m.code, code_name(code), sizeof(m.code));
	strlcpy(m.text, text, sizeof(m.text));
	msgpack_sbuffer_init(&sb);
	if (msg_encode_map(&sb, proto_def(PROTO_ERROR), &m) == 0 &&
	    imsgbuf_init(&buf, fd) == 0) {
		if (imsg_compose(&buf, PROTO_ERROR, 0, 0, -1, sb.data,
		    sb.size) != -1)
			(void)imsgbuf_write(&buf);
		imsgbuf_clear(&buf);
	}
	msgpack_sbuffer_destroy(&sb);
	rights_close(fd);
}

/* The kernel's list of the peer's groups, however long it is. */
static int
peer_groups(int fd, struct u64v *out)
{
	gid_t		*groups = NULL, *p;
	socklen_t	 len = 0;
	size_t		 i;
	int		 ret = -1;

	memset(out, 0, sizeof(*out));
	for (;;) {
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups,
		    &len) == 0)
			break;
		if (errno != ERANGE || len > 65536 * sizeof(gid_t) ||
		    (p = realloc(groups, len)) == NULL)
			goto done;
		groups = p;
	}
	for (i = 0; i < len / sizeof(gid_t); i++)
		if (u64v_add(out, groups[i]) == -1)
			goto done;
	ret = 0;
done:
	if (ret == -1)
		u64v_clear(out);
	free(groups);
	return (ret);
}

int
sessions_who(uint64_t id, uint32_t *uid, uint32_t *gid, struct u64v *groups)
{
	const struct session	*s;

	if ((s = session_find(id)) == NULL || peer_groups(s->fd, groups) == -1)
		return (-1);
	*uid = s->uid;
	*gid = s->gid;
	return (0);
}

static void
session_rights(uid_t uid, gid_t gid, const struct u64v *groups,
    struct rights *out, struct bound *bounds)
{
	struct rule_peer	 p;

	p.uid = uid;
	p.gid = gid;
	p.groups = groups->v;
	p.ngroups = groups->n;
	rules_resolve(&env.conf->rules, &p, out);
	limits_resolve(&env.conf->limit_rules, &p, bounds);
}

static void
session_tell(const struct session *s, uint32_t type)
{
	struct msg_session	 m;
	int			 i;

	memset(&m, 0, sizeof(m));
	m.uid = s->uid;
	m.gid = s->gid;
	m.pid = (uint32_t)s->pid;
	m.own = s->rights.own;
	m.others = s->rights.others;
	for (i = 0; i < RIGHT_MAX; i++)
		if (u64v_add(&m.by, s->rights.own_by[i]) == -1)
			fatal("%s", __func__);
	for (i = 0; i < RIGHT_MAX; i++)
		if (u64v_add(&m.by, s->rights.others_by[i]) == -1)
			fatal("%s", __func__);
	if (bounds_pack(&m.bounds, s->bounds) == -1)
		fatal("%s", __func__);
	parent_send(ROLE_STORE, type, 0, s->id, 0, -1, &m);
	u64v_clear(&m.by);
	u64v_clear(&m.bounds);
}

/*
 * Who has lost a right is cut off: nothing that it has begun, a subscription
 * or an attached command, may outlive what it was begun by.  If it comes
 * back it is judged as everybody.
 */
void
sessions_judge(void)
{
	struct session	*s, *next;
	struct rights	 new;
	struct u64v	 groups;

	RB_FOREACH_SAFE(s, sessions, &sessions, next) {
		if (peer_groups(s->fd, &groups) == -1) {
			log_warn("SO_PEERGROUPS");
			memset(&new, 0, sizeof(new));
		} else {
			session_rights(s->uid, s->gid, &groups, &new,
			    s->bounds);
			u64v_clear(&groups);
		}
		if (rights_kept(&s->rights, &new)) {
			s->rights = new;
			session_tell(s, MSG_SESSION_RIGHTS);
			continue;
		}
		log_info("uid %u has lost rights: disconnected",
		    (unsigned int)s->uid);
		(void)shutdown(s->fd, SHUT_RDWR);
		parent_send(ROLE_STORE, MSG_SESSION_CLOSED, 0, s->id, 0, -1,
		    NULL);
		session_free(s);
	}
}

static int
too_many(uid_t uid, const struct bound *own, char *text, size_t len)
{
	const struct conf_limits	*l = &env.conf->limits;
	struct session			*s;
	uint64_t			 most = own->most;
	size_t				 n = 0, all = l->clients;

	/* The administrator can still look when everybody else is there. */
	if (uid == 0)
		all += ROOT_RESERVE;
	else if (most == 0)
		most = l->clients_user;
	RB_FOREACH(s, sessions, &sessions)
		n += s->uid == uid;
	if (most != 0 && n >= most)
		snprintf(text, len, "too many connections: limit %llu for "
		    "user %u, %zu in use", (unsigned long long)most,
		    (unsigned int)uid, n);
	else if (nsessions >= all)
		snprintf(text, len, "too many connections: limit %zu in all, "
		    "%zu in use", all, nsessions);
	else
		return (0);
	return (1);
}

/* Takes the descriptor over. */
static void
session_new(int fd, const struct ucred *cred, const struct rights *rights,
    const struct bound *bounds)
{
	struct child		*store = &env.child[ROLE_STORE];
	struct epoll_event	 ev;
	struct session		*s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		goto fail;
	s->fd = fd;
	s->uid = cred->uid;
	s->gid = cred->gid;
	s->pid = cred->pid;
	s->rights = *rights;
	memcpy(s->bounds, bounds, sizeof(s->bounds));
	do {
		arc4random_buf(&s->id, sizeof(s->id));
	} while (s->id == 0 || session_find(s->id) != NULL);
	if ((s->pass = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1)
		goto fail;
	/* Hang-up is told whether it is asked for or not; nothing else is. */
	memset(&ev, 0, sizeof(ev));
	ev.data.u64 = s->id;
	if (epoll_ctl(hups, EPOLL_CTL_ADD, fd, &ev) == -1) {
		close(s->pass);
		goto fail;
	}
	RB_INSERT(sessions, &sessions, s);
	nsessions++;
	TAILQ_INSERT_TAIL(&waiting, s, wait);
	/*
	 * What the groups are good for is told, not the groups: a client may
	 * have 65536, and hang up and come again until a pipe is full.
	 */
	session_tell(s, MSG_SESSION_OPEN);
	s->mark = store->ch.nqueued;
	if (chan_flush(&store->ch) == -1)
		store->ch.broken = 1;
	sessions_pass(-1, 0, NULL);
	return;
fail:
	log_warn("client of uid %u", (unsigned int)cred->uid);
	free(s);
	refuse(fd, CODE_UNAVAILABLE, "the daemon is out of resources");
}

static void
on_pause(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	(void)arg;
	if (listener != -1)
		event_add(&ev_accept, NULL);
}

/*
 * The store writes it down.  A few, since who comes again and again must fill
 * neither its pipe nor the log; the others are counted.
 */
static void
refuse_tell(int fd, uid_t uid, enum code code, const char *text)
{
	static const struct bound	 few = { 10, 600000, 0 };
	static uint64_t			 bucket, more;
	struct msg_session_refused	 m;

	refuse(fd, code, text);
	if (limit_rate(&bucket, &few, parent_ms() * 1000000) != 0) {
		more++;
		return;
	}
	memset(&m, 0, sizeof(m));
	m.uid = uid;
	m.code = code;
	m.more = more;
	strlcpy(m.text, text, sizeof(m.text));
	more = 0;
	parent_send(ROLE_STORE, MSG_SESSION_REFUSED, 0, 0, 0, -1, &m);
}

/* By what the rules and the limits come to for him. */
static void
admit(int c, const struct ucred *cred)
{
	struct bound	 bounds[LIMIT_MAX];
	struct rights	 rights;
	struct u64v	 groups;
	char		 text[128];

	if (peer_groups(c, &groups) == -1) {
		log_warn("SO_PEERGROUPS");
		rights_close(c);
		return;
	}
	session_rights(cred->uid, cred->gid, &groups, &rights, bounds);
	u64v_clear(&groups);
	if (rights.own == 0 && rights.others == 0)
		refuse_tell(c, cred->uid, CODE_PERMISSION_DENIED,
		    "no rule allows you anything here");
	else if (too_many(cred->uid, &bounds[LIMIT_CLIENTS], text,
	    sizeof(text)))
		refuse_tell(c, cred->uid, CODE_LIMIT_EXCEEDED, text);
	else
		session_new(c, cred, &rights, bounds);
}

static void
on_accept(int fd, short event, void *arg)
{
	struct timeval		 tv = { 1, 0 };
	struct sockaddr_un	 sun;
	struct ucred		 cred;
	socklen_t		 len = sizeof(cred), sunlen = sizeof(sun);
	int			 c;

	(void)event;
	(void)arg;
	if ((c = accept4(fd, (struct sockaddr *)&sun, &sunlen,
	    SOCK_CLOEXEC | SOCK_NONBLOCK)) == -1) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM) {
			/* It stays readable; some may be free later. */
			log_warn("accept");
			event_del(&ev_accept);
			evtimer_add(&ev_pause, &tv);
		}
		return;
	}
	if (getsockopt(c, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1) {
		log_warn("SO_PEERCRED");
		rights_close(c);
	} else if (!parent_running())
		refuse(c, CODE_UNAVAILABLE, env.resting ? "its processes have "
		    "died too often: the daemon rests for a while" :
		    "the daemon is starting again");
	else if (blame_is_out(cred.uid, parent_ms()))
		refuse(c, CODE_LIMIT_EXCEEDED, "shut out for a while: the "
		    "frontend has crashed over your requests");
	else
		admit(c, &cred);
}

void
sessions_start(void)
{
	if ((hups = epoll_create1(EPOLL_CLOEXEC)) == -1)
		fatal("%s: epoll_create1", __func__);
	event_set(&ev_hup, hups, EV_READ | EV_PERSIST, on_hup, NULL);
	event_set(&ev_accept, listener, EV_READ | EV_PERSIST, on_accept,
	    NULL);
	evtimer_set(&ev_pause, on_pause, NULL);
	event_set(&ev_pass, -1, 0, sessions_pass, NULL);
	event_set(&ev_room, -1, 0, sessions_room, NULL);
	event_add(&ev_hup, NULL);
	event_add(&ev_accept, NULL);
}

void
sessions_end_all(void)
{
	struct session	*s, *next;

	event_del(&ev_pass);
	event_del(&ev_room);
	if (listener != -1)
		event_add(&ev_accept, NULL);
	RB_FOREACH_SAFE(s, sessions, &sessions, next) {
		/* Our copy alone would keep the connection open. */
		(void)shutdown(s->fd, SHUT_RDWR);
		session_free(s);
	}
}

/* The path is taken away only if it is still our socket. */
void
sessions_close(void)
{
	struct stat	 st;

	if (listener == -1)
		return;
	event_del(&ev_accept);
	event_del(&ev_room);
	evtimer_del(&ev_pause);
	if (lstat(env.conf->socket, &st) == 0 &&
	    st.st_dev == listener_st.st_dev &&
	    st.st_ino == listener_st.st_ino)
		(void)unlink(env.conf->socket);
	rights_close(listener);
	listener = -1;
}
