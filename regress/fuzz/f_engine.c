/*
 * What an Engine answers: status, headers and bodies in pieces of any size,
 * streams that are cut, and what the broker makes of the JSON in them.  In the
 * place of libcurl is a table of functions that hands over the input.
 */

#include <ctype.h>
#include <fcntl.h>

#include "fuzz.h"
#include "fuzz_policy.h"

#include "engine.c"

struct fake {
	curl_write_callback	 header, write;
	void			*headerdata, *writedata;
	long			 status;
	int			 done;		/* to be told once */
	CURLMsg			 msg;
};

struct engine_curl	 lcurl;

static struct fake	*theirs;		/* the one transfer */
static int		 answers, ups;
static struct policy	 policy;
static json_t		*inspect;	/* of a container of ours */
static struct msg_box_create	 known;
static struct policy_box	 box;

static CURL *
fake_init(void)
{
	need(theirs == NULL);
	need((theirs = calloc(1, sizeof(*theirs))) != NULL);
	return (theirs);
}

static void
fake_cleanup(CURL *h)
{
	need(h == theirs);
	free(theirs);
	theirs = NULL;
}

static CURLcode
fake_setopt(CURL *h, CURLoption opt, ...)
{
	struct fake	*f = h;
	va_list		 ap;

	va_start(ap, opt);
	switch (opt) {
	case CURLOPT_HEADERFUNCTION:
		f->header = va_arg(ap, curl_write_callback);
		break;
	case CURLOPT_HEADERDATA:
		f->headerdata = va_arg(ap, void *);
		break;
	case CURLOPT_WRITEFUNCTION:
		f->write = va_arg(ap, curl_write_callback);
		break;
	case CURLOPT_WRITEDATA:
		f->writedata = va_arg(ap, void *);
		break;
	default:
		break;
	}
	va_end(ap);
	return (CURLE_OK);
}

static CURLcode
fake_getinfo(CURL *h, CURLINFO what, ...)
{
	va_list	 ap;

	va_start(ap, what);
	*va_arg(ap, long *) = what == CURLINFO_RESPONSE_CODE ?
	    ((struct fake *)h)->status : 0;
	va_end(ap);
	return (CURLE_OK);
}

static const char *
fake_strerror(CURLcode code)
{
	return ("it failed");
}

static struct curl_slist *
fake_append(struct curl_slist *l, const char *line)
{
	/* Nobody reads it; but it must not be NULL, nor be lost. */
	return (l != NULL ? l : malloc(1));
}

static void
fake_free_all(struct curl_slist *l)
{
	free(l);
}

static CURLMcode
fake_add(CURLM *m, CURL *h)
{
	return (CURLM_OK);
}

static CURLMsg *
fake_read(CURLM *m, int *n)
{
	*n = 0;
	if (theirs == NULL || !theirs->done)
		return (NULL);
	theirs->done = 0;
	return (&theirs->msg);
}

int
engine_curl_load(const char **errstr)
{
	return (0);
}

/* Every reader of the broker's on every answer: it must know its own. */
static void
judge(json_t *j)
{
	struct msg_box_create	 req;
	struct policy_box	 b;
	struct policy		 p = policy;
	json_t			*want, *was = json_deep_copy(j);
	char			 why[POLICY_WHY_MAX];

	(void)policy_engine(&p, "amd64", j, why, sizeof(why));
	(void)policy_image_is(j, "base:latest");
	(void)policy_ours(&policy, j, 7);
	if (policy_derive(&policy, 7, j, &req, &b) == 0) {
		want = policy_build(&policy, &b);
		need(json_is_object(want));
		json_decref(want);
		(void)policy_check(&policy, &b, NULL, j, why, sizeof(why));
		(void)policy_check(&policy, &b, j, j, why, sizeof(why));
		free(b.guest);
		msg_clear(&req, msg_def(MSG_BOX_CREATE));
	}
	/* Whoever looks changes nothing. */
	need(json_equal(j, was));
	json_decref(was);
}

/* Our container, altered by what has come. */
static void
alter(json_t *j)
{
	json_t		*copy, *host;
	char		 why[POLICY_WHY_MAX];

	if (!json_is_object(j))
		return;
	need((copy = json_deep_copy(inspect)) != NULL);
	need(json_object_update_recursive(copy, j) == 0);
	judge(copy);
	if (policy_check(&policy, &box, NULL, copy, why, sizeof(why)) == 0) {
		host = json_object_get(copy, "HostConfig");
		need(!json_is_true(json_object_get(host, "Privileged")));
		need(json_equal(json_object_get(host, "Mounts"),
		    json_object_get(json_object_get(inspect, "HostConfig"),
		    "Mounts")));
	} else
		need(why[0] != '\0');
	json_decref(copy);
}

static void
answered(struct engine_answer *a, void *arg)
{
	size_t	 i;

	answers++;
	need(a->result == ENGINE_OK || a->text[0] != '\0');
	for (i = 0; a->text[i] != '\0'; i++)
		need(isprint((unsigned char)a->text[i]));
	need(i < sizeof(a->text));
	need(a->json == NULL || a->result == ENGINE_OK);
	if (a->json == NULL)
		return;
	judge(a->json);
	alter(a->json);
}

static void
up(void *arg)
{
	ups++;
}

static void
line(json_t *j, void *arg)
{
	struct engine_call	**call = arg;
	const char		 *s;

	need(ups == 1);
	judge(j);
	/* The caller may end it from there. */
	s = json_string_value(json_object_get(j, "cancel"));
	if (s != NULL && *call != NULL) {
		engine_cancel(*call);
		*call = NULL;
	}
}

static struct engine_call *
ask(int what, struct engine_call **call)
{
	switch (what) {
	case OP_VERSION:
		return (engine_version(answered, NULL));
	case OP_INFO:
		return (engine_info(answered, NULL));
	case OP_IMAGE_INSPECT:
		return (engine_image_inspect("base", answered, NULL));
	case OP_IMAGE_IMPORT:
		return (engine_image_import("base", open("/dev/null",
		    O_RDONLY | O_CLOEXEC), answered, NULL));
	case OP_CREATE:
		return (engine_create("box", json_object(), answered, NULL));
	case OP_INSPECT:
		return (engine_inspect("box", answered, NULL));
	case OP_START:
		return (engine_start("box", answered, NULL));
	case OP_KILL:
		return (engine_kill("box", answered, NULL));
	case OP_PAUSE:
		return (engine_pause("box", answered, NULL));
	case OP_UNPAUSE:
		return (engine_unpause("box", answered, NULL));
	case OP_UPDATE:
		return (engine_update("box", json_object(), answered, NULL));
	case OP_REMOVE:
		return (engine_remove("box", answered, NULL));
	case OP_LIST:
		return (engine_list("inst", answered, NULL));
	default:
		return (engine_events("inst", up, line, answered, call));
	}
}

/* One piece, as libcurl would give it. */
static int
hand_over(curl_write_callback fn, void *arg, const uint8_t *p, size_t len)
{
	char	*copy = (char *)fuzz_copy(p, len);
	size_t	 n;

	n = fn(copy, 1, len, arg);
	free(copy);
	need(n == len || n == 0);
	return (n == len);
}

static void
transfer(struct fuzz *in)
{
	static const long	 statuses[] = { 200, 201, 204, 304, 404, 500,
	    200, 0 };
	CURLcode		 code;
	size_t			 piece, n;
	int			 ok;

	theirs->status = statuses[fuzz_u8(in) & 7];
	code = fuzz_u8(in) & 3 ? CURLE_OK : CURLE_RECV_ERROR;
	piece = (size_t)fuzz_u8(in) * 4 + 1;
	ok = hand_over(theirs->header, theirs->headerdata,
	    (const uint8_t *)"\r\n", 2);
	engine_work();
	while (ok && in->len > 0 && theirs != NULL) {
		n = in->len < piece ? in->len : piece;
		ok = hand_over(theirs->write, theirs->writedata, in->p, n);
		in->p += n;
		in->len -= n;
		engine_work();
	}
	if (theirs == NULL)
		return;
	theirs->msg.msg = CURLMSG_DONE;
	theirs->msg.easy_handle = theirs;
	theirs->msg.data.result = ok ? code : CURLE_WRITE_ERROR;
	theirs->done = 1;
	engine_work();
}

static void
init(void)
{
	static char	 file[] = "/x";

	lcurl.easy_init = fake_init;
	lcurl.easy_cleanup = fake_cleanup;
	lcurl.easy_setopt = fake_setopt;
	lcurl.easy_getinfo = fake_getinfo;
	lcurl.easy_strerror = fake_strerror;
	lcurl.slist_append = fake_append;
	lcurl.slist_free_all = fake_free_all;
	lcurl.multi_add_handle = fake_add;
	lcurl.multi_remove_handle = fake_add;
	lcurl.multi_info_read = fake_read;
	(void)event_init();
	engine_path = file;
	engine_set_version(44);
	evtimer_set(&engine_timer, engine_timer_event, NULL);
	inspect = fuzz_policy(&policy, &known, &box);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz		 in = { data, len };
	struct engine_call	*call;

	if (engine_path == NULL)
		init();
	answers = ups = 0;
	call = NULL;
	call = ask(fuzz_u8(&in) % (OP_EVENTS + 1), &call);
	transfer(&in);
	/* An answer, and but one, unless the caller ended it himself. */
	need(answers == (call != NULL));
	need(TAILQ_EMPTY(&engine_calls) && theirs == NULL);
	fuzz_fds();
	return (0);
}
