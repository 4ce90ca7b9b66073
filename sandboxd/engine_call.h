/*
 * How engine_api.c has a call made: engine_call_new(), what it has beside its
 * URL, and engine_call_go().
 */
#ifndef ENGINE_CALL_H
#define ENGINE_CALL_H

#include "engine.h"

enum engine_op {
	OP_VERSION, OP_INFO, OP_IMAGE_INSPECT, OP_IMAGE_IMPORT, OP_CREATE,
	OP_INSPECT, OP_START, OP_KILL, OP_REMOVE, OP_LIST, OP_EVENTS,
	OP_PAUSE, OP_UNPAUSE, OP_UPDATE
};

struct engine_call *engine_call_new(enum engine_op, engine_cb, void *);
void	 engine_call_upload(struct engine_call *, int);
void	 engine_call_stream(struct engine_call *, void (*)(void *),
	    engine_line_cb);
void	 engine_call_body(struct engine_call *, json_t *);
/* Sets method, URL and body, and hands the call to libcurl. */
struct engine_call *engine_call_go(struct engine_call *, const char *, ...)
	    __attribute__((__format__(printf, 2, 3)));

#endif /* ENGINE_CALL_H */
