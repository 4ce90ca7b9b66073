/*
 * Calls to the Engine: HTTP through libcurl's multi interface on libevent.
 * What may be called is in engine_api.c.
 *
 * libcurl's own callbacks only collect bytes.  What has arrived is looked at
 * after libcurl has returned, so the callers' functions may start and cancel
 * calls as they like.
 */
#include <sys/queue.h>

#include <errno.h>
#include <event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "engine_call.h"
#include "engine_curl.h"
#include "log.h"

#define ENGINE_URL_MAX		2048
#define ENGINE_HEADER_MAX	65536	/* all headers of one answer */
#define ENGINE_STALL		5	/* deadlines without a byte to import */
#define ENGINE_TAR_MAGIC	257	/* where it is in the first header */
#define ENGINE_TAR_END		1024	/* zeros behind the last file */
#define ENGINE_CONNS		8	/* idle connections that are kept */

#define MS(s)		((s) * 1000L)
#define BOUND(s, v)	{ (s), 24, (v) }

static const struct engine_kind {
	const char		*method;
	long			 deadline;	/* ms; 0: none */
	int			 json;		/* the answer must be JSON */
	int			 lines;		/* a stream of lines of it */
	struct engine_bound	 bound;		/* of the answer, or a line */
} engine_kinds[] = {
	[OP_VERSION] = { "GET", MS(5), 1, 0, BOUND(65536, 1000) },
	[OP_INFO] = { "GET", MS(15), 1, 0, BOUND(1 << 20, 10000) },
	[OP_IMAGE_INSPECT] = { "GET", MS(15), 1, 0, BOUND(1 << 20, 10000) },
	[OP_IMAGE_IMPORT] = { "POST", 0, 0, 1, BOUND(65536, 1000) },
	[OP_CREATE] = { "POST", MS(60), 1, 0, BOUND(65536, 1000) },
	[OP_INSPECT] = { "GET", MS(15), 1, 0, BOUND(1 << 20, 10000) },
	[OP_START] = { "POST", MS(60), 0, 0, BOUND(65536, 1000) },
	[OP_KILL] = { "POST", MS(30), 0, 0, BOUND(65536, 1000) },
	[OP_REMOVE] = { "DELETE", MS(60), 0, 0, BOUND(65536, 1000) },
	[OP_LIST] = { "GET", MS(60), 1, 0, BOUND(32 << 20, 1000000) },
	[OP_EVENTS] = { "GET", 0, 0, 1, BOUND(65536, 1000) },
	[OP_PAUSE] = { "POST", MS(30), 0, 0, BOUND(65536, 1000) },
	[OP_UNPAUSE] = { "POST", MS(30), 0, 0, BOUND(65536, 1000) },
	[OP_UPDATE] = { "POST", MS(30), 1, 0, BOUND(65536, 1000) },
};

struct engine_call {
	TAILQ_ENTRY(engine_call)	 entry;
	const struct engine_kind	*kind;
	CURL				*easy;
	struct curl_slist		*headers;
	engine_cb			 cb;
	engine_line_cb			 line;
	void				 (*up)(void *);
	void				*arg;
	char				*body;		/* of the request */
	char				*buf;		/* of the answer */
	size_t				 len, size;
	size_t				 nheader;
	const char			*broken;	/* why we ended it */
	int				 isup;		/* status 200 came */
	int				 told;		/* up was called */
	int				 busy, dead;
	/* image import only */
	int				 fd;
	struct event			 fdev, stall;
	uint64_t			 sent;
	size_t				 zeros;		/* that it ends in */
	int				 ustar;		/* 5: not compressed */
	int				 cut;		/* it has no end */
	char				 id[ENGINE_NAME_MAX];
	char				 error[ENGINE_TEXT_MAX];
};

struct engine_sock {
	struct event	 ev;
};

long			 engine_deadline_max = MS(60);

static TAILQ_HEAD(call_list, engine_call) engine_calls =
    TAILQ_HEAD_INITIALIZER(engine_calls);
static CURLM		*engine_multi;
static char		*engine_path;
/* Until the Engine has told which it speaks. */
static int		 engine_api = ENGINE_API_OLDEST;
static struct event	 engine_timer;

static void	engine_work(void);

static void
engine_sock_event(int fd, short event, void *arg)
{
	int	 flags = 0, running;

	if (event & EV_READ)
		flags |= CURL_CSELECT_IN;
	if (event & EV_WRITE)
		flags |= CURL_CSELECT_OUT;
	lcurl.multi_socket_action(engine_multi, fd, flags, &running);
	engine_work();
}

static void
engine_timer_event(int fd, short event, void *arg)
{
	int	 running;

	lcurl.multi_socket_action(engine_multi, CURL_SOCKET_TIMEOUT, 0,
	    &running);
	engine_work();
}

static int
engine_cb_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *sockp)
{
	struct engine_sock	*s = sockp;
	short			 flags = EV_PERSIST;

	if (s != NULL)
		event_del(&s->ev);
	if (what == CURL_POLL_REMOVE) {
		free(s);
		lcurl.multi_assign(engine_multi, fd, NULL);
		return (0);
	}
	if (s == NULL) {
		if ((s = calloc(1, sizeof(*s))) == NULL)
			fatal("%s", __func__);
		lcurl.multi_assign(engine_multi, fd, s);
	}
	if (what & CURL_POLL_IN)
		flags |= EV_READ;
	if (what & CURL_POLL_OUT)
		flags |= EV_WRITE;
	event_set(&s->ev, fd, flags, engine_sock_event, NULL);
	event_add(&s->ev, NULL);
	return (0);
}

static int
engine_cb_timer(CURLM *multi, long ms, void *arg)
{
	struct timeval	 tv;

	if (ms < 0) {
		evtimer_del(&engine_timer);
		return (0);
	}
	tv.tv_sec = ms / 1000;
	tv.tv_usec = ms % 1000 * 1000;
	evtimer_add(&engine_timer, &tv);
	return (0);
}

static size_t
engine_cb_header(char *p, size_t size, size_t n, void *arg)
{
	struct engine_call	*call = arg;
	long			 status = 0;

	if ((call->nheader += size * n) > ENGINE_HEADER_MAX) {
		call->broken = "too many headers in the answer";
		return (0);
	}
	/* The empty line: for a stream this is the word that it began. */
	if (size * n <= 2 && lcurl.easy_getinfo(call->easy,
	    CURLINFO_RESPONSE_CODE, &status) == CURLE_OK && status == 200)
		call->isup = 1;
	return (size * n);
}

static size_t
engine_cb_write(char *p, size_t size, size_t n, void *arg)
{
	struct engine_call	*call = arg;
	size_t			 len = size * n, want, max;
	char			*buf;

	/* A stream may hold one whole line and what came with it. */
	max = call->kind->bound.size;
	if (call->kind->lines)
		max += CURL_MAX_WRITE_SIZE;
	if (len > max || call->len > max - len) {
		call->broken = "the answer is too large";
		return (0);
	}
	if (call->len + len > call->size) {
		for (want = call->size; want < call->len + len;)
			want = want == 0 ? 4096 : want * 2;
		if ((buf = realloc(call->buf, want)) == NULL) {
			call->broken = "no memory for the answer";
			return (0);
		}
		call->buf = buf;
		call->size = want;
	}
	memcpy(call->buf + call->len, p, len);
	call->len += len;
	return (len);
}

static void
engine_stall_start(struct engine_call *call)
{
	long		 ms = ENGINE_STALL * engine_deadline_max;
	struct timeval	 tv = { ms / 1000, ms % 1000 * 1000 };

	evtimer_add(&call->stall, &tv);
}

/*
 * The client's bytes on their way into an image.  The Engine takes an archive
 * that breaks off between two files for a whole one, and the end of the pipe
 * is also that of a client that was killed.  So all that is looked at here is
 * whether a tar archive (by the magic of its first header) ends in its two
 * blocks of zeros; a compressed one tells its end itself.
 */
static void
engine_tar(struct engine_call *call, const char *p, size_t len)
{
	static const char	 magic[] = "ustar";
	size_t			 i;

	/* It may come in pieces, of which each byte counts. */
	for (i = 0; i < sizeof(magic) - 1; i++)
		if (call->sent <= ENGINE_TAR_MAGIC + i &&
		    ENGINE_TAR_MAGIC + i - call->sent < len &&
		    p[ENGINE_TAR_MAGIC + i - call->sent] == magic[i])
			call->ustar++;
	for (i = len; i > 0 && p[i - 1] == '\0'; i--)
		;
	call->zeros = i == 0 ? call->zeros + len : len - i;
	call->sent += len;
}

static size_t
engine_cb_read(char *p, size_t size, size_t n, void *arg)
{
	struct engine_call	*call = arg;
	ssize_t			 len;

	if ((len = read(call->fd, p, size * n)) == -1) {
		if (errno == EAGAIN || errno == EINTR) {
			event_add(&call->fdev, NULL);
			return (CURL_READFUNC_PAUSE);
		}
		call->broken = "reading the archive failed";
		return (CURL_READFUNC_ABORT);
	}
	engine_stall_start(call);
	/* Of no bytes at all the Engine would make an image, too. */
	if (len == 0 && (call->sent == 0 ||
	    (call->ustar == 5 && call->zeros < ENGINE_TAR_END))) {
		call->cut = 1;
		call->broken = call->sent == 0 ? "the archive is empty" :
		    "the archive is not complete";
		return (CURL_READFUNC_ABORT);
	}
	engine_tar(call, p, len);
	return (len);
}

static void
engine_fd_event(int fd, short event, void *arg)
{
	struct engine_call	*call = arg;

	lcurl.easy_pause(call->easy, CURLPAUSE_CONT);
	engine_work();
}

static void
engine_call_free(struct engine_call *call)
{
	if (call->busy) {
		call->dead = 1;
		return;
	}
	if (call->fd != -1) {
		event_del(&call->fdev);
		evtimer_del(&call->stall);
		close(call->fd);
	}
	lcurl.slist_free_all(call->headers);
	free(call->body);
	free(call->buf);
	free(call);
}

static void
engine_call_detach(struct engine_call *call)
{
	TAILQ_REMOVE(&engine_calls, call, entry);
	lcurl.multi_remove_handle(engine_multi, call->easy);
	lcurl.easy_cleanup(call->easy);
	call->easy = NULL;
}

void
engine_cancel(struct engine_call *call)
{
	if (call->dead)
		return;
	if (call->easy != NULL)
		engine_call_detach(call);
	engine_call_free(call);
}

/* The Engine's own words: {"message": "..."}. */
static void
engine_refusal(struct engine_call *call, struct engine_answer *ans)
{
	static const struct engine_bound bound = BOUND(65536, 100);
	const char	*msg = NULL;
	json_t		*j = NULL;

	ans->result = ENGINE_REFUSED;
	if (call->len > 0)
		j = engine_json_load(call->buf, call->len, &bound);
	if (j != NULL)
		msg = json_string_value(json_object_get(j, "message"));
	if (msg != NULL)
		engine_text(ans->text, sizeof(ans->text), msg);
	/* Words of blanks alone are none. */
	if (ans->text[0] == '\0')
		snprintf(ans->text, sizeof(ans->text), "status %ld",
		    ans->status);
	json_decref(j);
}

static void
engine_import_answer(struct engine_call *call, struct engine_answer *ans)
{
	if (call->error[0] != '\0') {
		ans->result = ENGINE_REFUSED;
		memcpy(ans->text, call->error, sizeof(ans->text));
	} else if (call->id[0] == '\0') {
		ans->result = ENGINE_UNKNOWN;
		snprintf(ans->text, sizeof(ans->text),
		    "the answer names no image");
	} else
		ans->json = json_pack("{s:s}", "Id", call->id);
}

/*
 * An Engine that does not want an archive answers and hangs up at once.  What
 * it said is lost if that meets the next piece of the archive on its way.
 */
static int
engine_hung_up(const struct engine_call *call, CURLcode code)
{
	return (call->kind == &engine_kinds[OP_IMAGE_IMPORT] &&
	    code == CURLE_SEND_ERROR);
}

/* What became of a call whose transfer ended with that code. */
static void
engine_answer_make(struct engine_call *call, CURLcode code,
    struct engine_answer *ans)
{
	const char	*why = call->broken;
	long		 err = 0;

	memset(ans, 0, sizeof(*ans));
	lcurl.easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &ans->status);
	if (why == NULL && code != CURLE_OK)
		why = lcurl.easy_strerror(code);
	if (why != NULL) {
		ans->result = code == CURLE_COULDNT_CONNECT ? ENGINE_AWAY :
		    call->cut ? ENGINE_INPUT : ENGINE_UNKNOWN;
		ans->status = 0;
		ans->late = code == CURLE_OPERATION_TIMEDOUT;
		ans->bad = !ans->late && (call->broken != NULL ||
		    code == CURLE_WEIRD_SERVER_REPLY ||
		    code == CURLE_UNSUPPORTED_PROTOCOL ||
		    engine_hung_up(call, code));
		if (ans->result == ENGINE_AWAY && lcurl.easy_getinfo(call->easy,
		    CURLINFO_OS_ERRNO, &err) == CURLE_OK && err != 0)
			snprintf(ans->text, sizeof(ans->text), "%s: %s",
			    engine_path, strerror(err));
		else
			engine_text(ans->text, sizeof(ans->text), why);
		return;
	}
	if (ans->status < 200 || ans->status > 299) {
		engine_refusal(call, ans);
		return;
	}
	ans->result = ENGINE_OK;
	if (call->kind == &engine_kinds[OP_IMAGE_IMPORT])
		engine_import_answer(call, ans);
	if (!call->kind->json)
		return;
	if ((ans->json = engine_json_load(call->buf == NULL ? "" : call->buf,
	    call->len, &call->kind->bound)) == NULL) {
		ans->result = ENGINE_UNKNOWN;
		ans->bad = 1;
		snprintf(ans->text, sizeof(ans->text),
		    "the answer is not sound JSON");
	}
}

static void
engine_finish(struct engine_call *call, CURLcode code)
{
	struct engine_answer	 ans;

	engine_answer_make(call, code, &ans);
	engine_call_detach(call);
	call->cb(&ans, call->arg);
	json_decref(ans.json);
	engine_call_free(call);
}

static void
engine_stall_event(int fd, short event, void *arg)
{
	struct engine_call	*call = arg;

	call->broken = event_pending(&call->fdev, EV_READ, NULL) ?
	    "the archive stopped coming" : "the archive is not taken";
	engine_finish(call, CURLE_OPERATION_TIMEDOUT);
}

static void
engine_import_line(json_t *j, void *arg)
{
	struct engine_call	*call = arg;
	const char		*s;

	if ((s = json_string_value(json_object_get(j, "error"))) != NULL)
		engine_text(call->error, sizeof(call->error), s);
	s = json_string_value(json_object_get(j, "status"));
	if (s != NULL && strncmp(s, "sha256:", 7) == 0 && engine_image_ok(s))
		snprintf(call->id, sizeof(call->id), "%s", s);
}

/* Takes the whole lines of a stream, all of it when the stream has ended. */
static void
engine_lines(struct engine_call *call, int ended)
{
	size_t	 off = 0, len;
	char	*nl;
	json_t	*j;

	while (off < call->len && !call->dead && call->broken == NULL) {
		nl = memchr(call->buf + off, '\n', call->len - off);
		if (nl == NULL && !ended)
			break;
		len = nl == NULL ? call->len - off :
		    (size_t)(nl - (call->buf + off)) + 1;
		j = engine_json_load(call->buf + off, len, &call->kind->bound);
		off += len;
		if (j == NULL) {
			/* An empty line between two objects is nothing. */
			if (len > 2)
				call->broken = "a line is not sound JSON";
			continue;
		}
		if (call->line != NULL)
			call->line(j, call->arg);
		else
			engine_import_line(j, call);
		json_decref(j);
	}
	if (off > 0) {
		memmove(call->buf, call->buf + off, call->len - off);
		call->len -= off;
	}
}

static void
engine_stream(struct engine_call *call, int ended)
{
	call->busy = 1;
	if (!call->told && call->up != NULL) {
		call->told = 1;
		call->up(call->arg);
	}
	engine_lines(call, ended);
	call->busy = 0;
	if (call->dead)
		engine_call_free(call);
	else if (call->broken != NULL && !ended)
		engine_finish(call, CURLE_WRITE_ERROR);
}

static int
engine_has_news(const struct engine_call *call)
{
	if (!call->kind->lines || !call->isup)
		return (0);
	return ((!call->told && call->up != NULL) || (call->len > 0 &&
	    memchr(call->buf, '\n', call->len) != NULL));
}

/* After libcurl has returned: streams first, then what has ended. */
static void
engine_work(void)
{
	struct engine_call	*call;
	CURLMsg			*msg;
	CURLcode		 code;
	int			 left;

	for (;;) {
		TAILQ_FOREACH(call, &engine_calls, entry)
			if (engine_has_news(call))
				break;
		if (call == NULL)
			break;
		engine_stream(call, 0);
	}
	while ((msg = lcurl.multi_info_read(engine_multi, &left)) != NULL) {
		if (msg->msg != CURLMSG_DONE)
			continue;
		code = msg->data.result;
		TAILQ_FOREACH(call, &engine_calls, entry)
			if (call->easy == msg->easy_handle)
				break;
		if (call == NULL)
			continue;
		if (call->kind->lines && call->isup && call->len > 0) {
			call->busy = 1;
			engine_lines(call, 1);
			call->busy = 0;
			if (call->dead) {
				engine_call_free(call);
				continue;
			}
		}
		engine_finish(call, code);
	}
}

struct engine_call *
engine_call_new(enum engine_op op, engine_cb cb, void *arg)
{
	struct engine_call	*call;
	CURL			*h;
	long			 ms;

	if ((call = calloc(1, sizeof(*call))) == NULL ||
	    (h = call->easy = lcurl.easy_init()) == NULL)
		fatal("%s", __func__);
	call->kind = &engine_kinds[op];
	call->cb = cb;
	call->arg = arg;
	call->fd = -1;
	ms = call->kind->deadline;
	if (ms > engine_deadline_max)
		ms = engine_deadline_max;
	if (lcurl.easy_setopt(h, CURLOPT_UNIX_SOCKET_PATH, engine_path) ||
	    lcurl.easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http") ||
	    lcurl.easy_setopt(h, CURLOPT_PROXY, "") ||
	    lcurl.easy_setopt(h, CURLOPT_NOSIGNAL, 1L) ||
	    lcurl.easy_setopt(h, CURLOPT_PATH_AS_IS, 1L) ||
	    lcurl.easy_setopt(h, CURLOPT_HTTP_VERSION,
	    (long)CURL_HTTP_VERSION_1_1) ||
	    lcurl.easy_setopt(h, CURLOPT_TIMEOUT_MS, ms) ||
	    lcurl.easy_setopt(h, CURLOPT_HEADERFUNCTION, engine_cb_header) ||
	    lcurl.easy_setopt(h, CURLOPT_HEADERDATA, call) ||
	    lcurl.easy_setopt(h, CURLOPT_WRITEFUNCTION, engine_cb_write) ||
	    lcurl.easy_setopt(h, CURLOPT_WRITEDATA, call))
		fatalx("%s: libcurl lacks an option", __func__);
	return (call);
}

static void
engine_header(struct engine_call *call, const char *line)
{
	struct curl_slist	*l;

	if ((l = lcurl.slist_append(call->headers, line)) == NULL)
		fatal("%s", __func__);
	call->headers = l;
}

/* Sets method, URL and body, and hands the call to libcurl. */
struct engine_call *
engine_call_go(struct engine_call *call, const char *fmt, ...)
{
	char	 url[ENGINE_URL_MAX];
	va_list	 ap;
	int	 n, len;

	n = snprintf(url, sizeof(url), "http://localhost");
	if (call->kind != &engine_kinds[OP_VERSION])
		n += snprintf(url + n, sizeof(url) - n, "/v%d.%d",
		    ENGINE_API_MAJOR, engine_api);
	va_start(ap, fmt);
	len = vsnprintf(url + n, sizeof(url) - n, fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(url) - n)
		fatalx("%s: url too long", __func__);

	/* An upload is a POST already, and has no size to declare. */
	if (call->fd == -1 && strcmp(call->kind->method, "GET") != 0) {
		engine_header(call, "Content-Type: application/json");
		if (lcurl.easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE,
		    call->body == NULL ? 0L : (long)strlen(call->body)) ||
		    lcurl.easy_setopt(call->easy, CURLOPT_POSTFIELDS,
		    call->body == NULL ? "" : call->body) ||
		    lcurl.easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST,
		    call->kind->method))
			fatalx("%s: setopt", __func__);
	}
	/* Do not wait for leave to send a body. */
	engine_header(call, "Expect:");
	if (lcurl.easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers) ||
	    lcurl.easy_setopt(call->easy, CURLOPT_URL, url))
		fatalx("%s: setopt", __func__);
	TAILQ_INSERT_TAIL(&engine_calls, call, entry);
	if (lcurl.multi_add_handle(engine_multi, call->easy) != CURLM_OK)
		fatalx("%s: multi_add_handle", __func__);
	return (call);
}

/* A stream has a connection of its own, which nothing else uses after it. */
static void
engine_call_alone(struct engine_call *call)
{
	if (lcurl.easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L) ||
	    lcurl.easy_setopt(call->easy, CURLOPT_FORBID_REUSE, 1L) ||
	    lcurl.easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS,
	    engine_kinds[OP_VERSION].deadline))
		fatalx("%s: setopt", __func__);
}

/* A request with the tar archive that comes out of the descriptor. */
void
engine_call_upload(struct engine_call *call, int fd)
{
	call->fd = fd;
	event_set(&call->fdev, fd, EV_READ, engine_fd_event, call);
	evtimer_set(&call->stall, engine_stall_event, call);
	engine_stall_start(call);
	engine_call_alone(call);
	engine_header(call, "Content-Type: application/x-tar");
	engine_header(call, "Transfer-Encoding: chunked");
	if (lcurl.easy_setopt(call->easy, CURLOPT_POST, 1L) ||
	    lcurl.easy_setopt(call->easy, CURLOPT_READFUNCTION,
	    engine_cb_read) ||
	    lcurl.easy_setopt(call->easy, CURLOPT_READDATA, call))
		fatalx("%s: setopt", __func__);
}

/* One whose answer is a stream of lines. */
void
engine_call_stream(struct engine_call *call, void (*up)(void *),
    engine_line_cb line)
{
	call->up = up;
	call->line = line;
	engine_call_alone(call);
}

/* Takes the body. */
void
engine_call_body(struct engine_call *call, json_t *body)
{
	if ((call->body = json_dumps(body, JSON_COMPACT)) == NULL)
		fatal("%s", __func__);
	json_decref(body);
}

void
engine_set_version(int minor)
{
	engine_api = minor;
}

int
engine_init(const char *path, const char **errstr)
{
	if (engine_curl_load(errstr) == -1)
		return (-1);
	if ((engine_path = strdup(path)) == NULL ||
	    (engine_multi = lcurl.multi_init()) == NULL)
		fatal("%s", __func__);
	if (lcurl.multi_setopt(engine_multi, CURLMOPT_SOCKETFUNCTION,
	    engine_cb_socket) ||
	    lcurl.multi_setopt(engine_multi, CURLMOPT_TIMERFUNCTION,
	    engine_cb_timer) ||
	    lcurl.multi_setopt(engine_multi, CURLMOPT_MAXCONNECTS,
	    (long)ENGINE_CONNS))
		fatalx("%s: multi_setopt", __func__);
	evtimer_set(&engine_timer, engine_timer_event, NULL);
	return (0);
}

void
engine_shutdown(void)
{
	struct engine_call	*call;

	while ((call = TAILQ_FIRST(&engine_calls)) != NULL)
		engine_cancel(call);
	lcurl.multi_cleanup(engine_multi);
	engine_multi = NULL;
	evtimer_del(&engine_timer);
	free(engine_path);
	engine_path = NULL;
}
