/*
 * The Engine API: a closed list of calls over the Engine's local socket.
 *
 * Nothing but what stands here can be asked of the Engine, and every name that
 * becomes a part of a URL is checked first.  Each call has a deadline and a
 * bound on the size, the depth and the number of values of its answer.
 *
 * A callback runs exactly once per call, from the event loop and never from
 * within the function that started the call.  It may start other calls.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <sys/types.h>

#include <jansson.h>
#include <stdint.h>

#define ENGINE_API_MAJOR	1
#define ENGINE_API_OLDEST	41	/* older ones are not spoken */

#define ENGINE_ID_LEN		64	/* of a container */
#define ENGINE_NAME_MAX		128	/* a container's name or ID */
#define ENGINE_IMAGE_MAX	256	/* an image's name or ID */
#define ENGINE_TEXT_MAX		512	/* the reason of a failure */

enum engine_result {
	ENGINE_OK,		/* a 2xx status and a sound answer */
	ENGINE_REFUSED,		/* the Engine said no: see status and text */
	ENGINE_AWAY,		/* not connected: nothing was asked */
	ENGINE_UNKNOWN,		/* asked, and no sound answer came */
	ENGINE_INPUT		/* what was to be sent is not whole */
};

struct engine_answer {
	enum engine_result	 result;
	long			 status;	/* HTTP status, 0 if none */
	int			 late;		/* UNKNOWN: past its deadline */
	int			 bad;		/* UNKNOWN: it was nonsense */
	json_t			*json;		/* the caller's while he runs */
	char			 text[ENGINE_TEXT_MAX];
};

struct engine_call;
typedef void	(*engine_cb)(struct engine_answer *, void *);
typedef void	(*engine_line_cb)(json_t *, void *);

/* Before the broker gives up its right to open files: loads libcurl. */
int	 engine_init(const char *, const char **);
void	 engine_shutdown(void);
/* The API version that all later calls name; 0 before it is known. */
void	 engine_set_version(int);

struct engine_call *engine_version(engine_cb, void *);
struct engine_call *engine_info(engine_cb, void *);
struct engine_call *engine_image_inspect(const char *, engine_cb, void *);
/* Reads the tar archive from the descriptor, which it closes in the end. */
struct engine_call *engine_image_import(const char *, int, engine_cb, void *);
struct engine_call *engine_create(const char *, json_t *, engine_cb, void *);
struct engine_call *engine_inspect(const char *, engine_cb, void *);
struct engine_call *engine_start(const char *, engine_cb, void *);
struct engine_call *engine_kill(const char *, engine_cb, void *);
struct engine_call *engine_pause(const char *, engine_cb, void *);
struct engine_call *engine_unpause(const char *, engine_cb, void *);
struct engine_call *engine_update(const char *, json_t *, engine_cb, void *);
struct engine_call *engine_remove(const char *, engine_cb, void *);
struct engine_call *engine_list(const char *, engine_cb, void *);
/*
 * Containers' create, die, oom and destroy with that instance's label.  up is
 * called when the Engine has taken the subscription, line for each event, and the
 * callback when the stream has ended, for whatever reason.
 */
struct engine_call *engine_events(const char *, void (*)(void *),
	    engine_line_cb, engine_cb, void *);
/* Ends a call without its callback.  What the Engine does is unknown. */
void	 engine_cancel(struct engine_call *);

int	 engine_name_ok(const char *);
/* Whole ones, as the Engine gives them: it takes the beginnings as well. */
int	 engine_id_ok(const char *);
int	 engine_image_id_ok(const char *);
int	 engine_image_ok(const char *);

/* No deadline is longer than this, in milliseconds. */
extern long	 engine_deadline_max;

/* engine_json.c */
struct engine_bound {
	size_t	 size;		/* bytes */
	int	 depth;		/* of arrays and objects */
	size_t	 values;
};
/* 0 if the text may be given to a recursive parser. */
int	 engine_json_scan(const char *, size_t, const struct engine_bound *);
json_t	*engine_json_load(const char *, size_t, const struct engine_bound *);
/* A printable copy of a stranger's text, cut to fit. */
void	 engine_text(char *, size_t, const char *);

#endif /* ENGINE_H */
