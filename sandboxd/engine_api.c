/*
 * The closed list of calls to the Engine, and what may stand in their URLs.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "engine_call.h"
#include "log.h"

/* Percent-encodes what is not unreserved. */
static void
engine_escape(char *dst, size_t size, const char *src)
{
	static const char	 hex[] = "0123456789ABCDEF";
	size_t			 n = 0;
	unsigned char		 c;

	for (; (c = *src) != '\0'; src++) {
		if (n + 4 > size)
			fatalx("%s: too long", __func__);
		if (isalnum(c) || strchr("-._~", c) != NULL) {
			dst[n++] = c;
			continue;
		}
		dst[n++] = '%';
		dst[n++] = hex[c >> 4];
		dst[n++] = hex[c & 15];
	}
	dst[n] = '\0';
}

static void
engine_need_name(const char *name)
{
	if (!engine_name_ok(name))
		fatalx("%s: bad name", __func__);
}

struct engine_call *
engine_version(engine_cb cb, void *arg)
{
	return (engine_call_go(engine_call_new(OP_VERSION, cb, arg),
	    "/version"));
}

struct engine_call *
engine_info(engine_cb cb, void *arg)
{
	return (engine_call_go(engine_call_new(OP_INFO, cb, arg), "/info"));
}

struct engine_call *
engine_image_inspect(const char *image, engine_cb cb, void *arg)
{
	if (!engine_image_ok(image))
		fatalx("%s: bad image name", __func__);
	return (engine_call_go(engine_call_new(OP_IMAGE_INSPECT, cb, arg),
	    "/images/%s/json", image));
}

struct engine_call *
engine_image_import(const char *image, int fd, engine_cb cb, void *arg)
{
	struct engine_call	*call;
	char			 repo[ENGINE_IMAGE_MAX], *tag;
	char			 erepo[3 * ENGINE_IMAGE_MAX + 1];

	if (!engine_image_ok(image) || strchr(image, '@') != NULL)
		fatalx("%s: bad image name", __func__);
	snprintf(repo, sizeof(repo), "%s", image);
	/* A colon before a slash belongs to a host, not to a tag. */
	tag = strrchr(repo, ':');
	if (tag != NULL && strchr(tag, '/') == NULL)
		*tag++ = '\0';
	else
		tag = NULL;
	engine_escape(erepo, sizeof(erepo), repo);

	call = engine_call_new(OP_IMAGE_IMPORT, cb, arg);
	engine_call_upload(call, fd);
	return (engine_call_go(call, "/images/create?fromSrc=-&repo=%s&tag=%s",
	    erepo, tag == NULL ? "latest" : tag));
}

/* Takes the body. */
struct engine_call *
engine_create(const char *name, json_t *body, engine_cb cb, void *arg)
{
	struct engine_call	*call;

	engine_need_name(name);
	call = engine_call_new(OP_CREATE, cb, arg);
	engine_call_body(call, body);
	return (engine_call_go(call, "/containers/create?name=%s", name));
}

struct engine_call *
engine_inspect(const char *name, engine_cb cb, void *arg)
{
	engine_need_name(name);
	return (engine_call_go(engine_call_new(OP_INSPECT, cb, arg),
	    "/containers/%s/json", name));
}

struct engine_call *
engine_start(const char *name, engine_cb cb, void *arg)
{
	engine_need_name(name);
	return (engine_call_go(engine_call_new(OP_START, cb, arg),
	    "/containers/%s/start", name));
}

struct engine_call *
engine_kill(const char *name, engine_cb cb, void *arg)
{
	engine_need_name(name);
	return (engine_call_go(engine_call_new(OP_KILL, cb, arg),
	    "/containers/%s/kill?signal=KILL", name));
}

/* Takes the body. */
struct engine_call *
engine_update(const char *name, json_t *body, engine_cb cb, void *arg)
{
	struct engine_call	*call;

	engine_need_name(name);
	call = engine_call_new(OP_UPDATE, cb, arg);
	engine_call_body(call, body);
	return (engine_call_go(call, "/containers/%s/update", name));
}

struct engine_call *
engine_pause(const char *name, engine_cb cb, void *arg)
{
	engine_need_name(name);
	return (engine_call_go(engine_call_new(OP_PAUSE, cb, arg),
	    "/containers/%s/pause", name));
}

struct engine_call *
engine_unpause(const char *name, engine_cb cb, void *arg)
{
	engine_need_name(name);
	return (engine_call_go(engine_call_new(OP_UNPAUSE, cb, arg),
	    "/containers/%s/unpause", name));
}

struct engine_call *
engine_remove(const char *name, engine_cb cb, void *arg)
{
	engine_need_name(name);
	return (engine_call_go(engine_call_new(OP_REMOVE, cb, arg),
	    "/containers/%s?v=1&force=1", name));
}

static void
engine_filter(char *dst, size_t size, const char *instance, int events)
{
	char	*s, label[ENGINE_NAME_MAX + 32];
	json_t	*j;

	engine_need_name(instance);
	snprintf(label, sizeof(label), "sandboxd.instance=%s", instance);
	if (events)
		j = json_pack("{s:[s],s:[s,s,s,s,s,s,s,s],s:[s]}", "type",
		    "container", "event", "create", "die", "oom", "destroy",
		    "pause", "rename", "unpause", "update", "label", label);
	else
		j = json_pack("{s:[s]}", "label", label);
	if (j == NULL || (s = json_dumps(j, JSON_COMPACT)) == NULL)
		fatal("%s", __func__);
	engine_escape(dst, size, s);
	free(s);
	json_decref(j);
}

struct engine_call *
engine_list(const char *instance, engine_cb cb, void *arg)
{
	char	 filter[1024];

	engine_filter(filter, sizeof(filter), instance, 0);
	return (engine_call_go(engine_call_new(OP_LIST, cb, arg),
	    "/containers/json?all=1&filters=%s", filter));
}

struct engine_call *
engine_events(const char *instance, void (*up)(void *), engine_line_cb line,
    engine_cb cb, void *arg)
{
	struct engine_call	*call;
	char			 filter[1024];

	engine_filter(filter, sizeof(filter), instance, 1);
	call = engine_call_new(OP_EVENTS, cb, arg);
	engine_call_stream(call, up, line);
	return (engine_call_go(call, "/events?filters=%s", filter));
}

/* The Engine's rule for container names, which holds for IDs as well. */
int
engine_name_ok(const char *name)
{
	size_t	 i;

	if (!isalnum((unsigned char)name[0]))
		return (0);
	for (i = 1; name[i] != '\0'; i++)
		if (!isalnum((unsigned char)name[i]) &&
		    strchr("_.-", name[i]) == NULL)
			return (0);
	return (i >= 2 && i < ENGINE_NAME_MAX);
}

int
engine_id_ok(const char *id)
{
	return (strlen(id) == ENGINE_ID_LEN &&
	    strspn(id, "0123456789abcdef") == ENGINE_ID_LEN);
}

int
engine_image_id_ok(const char *id)
{
	return (strncmp(id, "sha256:", 7) == 0 && engine_id_ok(id + 7));
}

/*
 * [host[:port]/]path[:tag][@digest], or an ID.  Narrower than the Engine's
 * grammar where that costs nothing: no component is empty or begins with
 * anything but a letter or a digit, so none is "." or "..".
 */
int
engine_image_ok(const char *image)
{
	size_t	 i;
	char	 prev = '/';

	for (i = 0; image[i] != '\0'; prev = image[i++]) {
		if (isalnum((unsigned char)image[i]))
			continue;
		if (strchr("/:@", prev) != NULL)
			return (0);
		if (strchr("/:@._-", image[i]) == NULL)
			return (0);
	}
	return (i > 0 && i < ENGINE_IMAGE_MAX && strchr("/:@", prev) == NULL);
}
