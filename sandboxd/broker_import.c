/*
 * Image import and the inventory of what is ours.
 *
 * The archive comes through a pipe that is made here; its write end goes to
 * the client, and the bytes from it to the Engine, unread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"
#include "fault.h"
#include "log.h"

#define IMPORTS_MAX		4
#define INVENTORY_WINDOW	8	/* inspects in flight */

struct import {
	uint64_t	 op;
	uint64_t	 session;
	uint32_t	 req;
	char		 name[SBX_IMAGE_MAX + 1];
	char		 id[POLICY_IMAGE_ID_MAX];
};
static int	 nimports;

struct inventory {
	uint64_t	 op;
	json_t		*list;
	size_t		 next;
	size_t		 flying;
	int		 failed;
	char		 why[ENGINE_TEXT_MAX];
};

static void
import_failed(struct import *im, enum code code, const char *field,
    const char *text)
{
	struct msg_box_failed	 m;

	memset(&m, 0, sizeof(m));
	m.code = code;
	snprintf(m.text, sizeof(m.text), "%s", text);
	snprintf(m.field, sizeof(m.field), "%s", field);
	pipe_send(&broker_env.store, MSG_IMPORT_FAILED, im->op, im->session,
	    im->req, -1, &m);
}

static void
import_inspected(struct engine_answer *ans, void *arg)
{
	struct import		*im = arg;
	struct proto_image	 m;

	memset(&m, 0, sizeof(m));
	snprintf(m.name, sizeof(m.name), "%s", im->name);
	snprintf(m.id, sizeof(m.id), "%s", im->id);
	if (ans->result == ENGINE_OK)
		m.size = json_integer_value(json_object_get(ans->json,
		    "Size"));
	pipe_send(&broker_env.store, MSG_IMPORTED, im->op, im->session,
	    im->req, -1, &m);
	nimports--;
	free(im);
}

static void
import_done(struct engine_answer *ans, void *arg)
{
	struct import	*im = arg;
	const char	*id;

	fault("broker.import.after");
	if (ans->result == ENGINE_OK) {
		id = json_string_value(json_object_get(ans->json, "Id"));
		strlcpy(im->id, id == NULL ? "" : id, sizeof(im->id));
		engine_image_inspect(im->id, import_inspected, im);
		return;
	}
	import_failed(im, ans->result == ENGINE_INPUT ? CODE_INVALID_ARGUMENT :
	    broker_code(ans), "", ans->text);
	if (ans->result == ENGINE_AWAY)
		broker_engine_lost(ans->text);
	nimports--;
	free(im);
}

void
broker_import(uint64_t op, uint64_t session, uint32_t req, const char *name)
{
	struct import	*im;
	char		 text[ENGINE_TEXT_MAX + 32];
	int		 p[2];

	if ((im = calloc(1, sizeof(*im))) == NULL)
		fatal("%s", __func__);
	im->op = op;
	im->session = session;
	im->req = req;
	strlcpy(im->name, name, sizeof(im->name));
	if (!engine_image_ok(name) || strchr(name, '@') != NULL)
		import_failed(im, CODE_INVALID_ARGUMENT, "name",
		    "invalid image name");
	else if (!broker_env.up) {
		snprintf(text, sizeof(text), "the Engine is away: %s",
		    broker_env.why);
		import_failed(im, CODE_UNAVAILABLE, "", text);
	} else if (nimports >= IMPORTS_MAX)
		import_failed(im, CODE_LIMIT_EXCEEDED, "",
		    "too many imports at a time");
	else if (pipe2(p, O_CLOEXEC) == -1)
		import_failed(im, CODE_INTERNAL, "", strerror(errno));
	else {
		/* The client's end stays blocking. */
		if (fcntl(p[0], F_SETFL, O_NONBLOCK) == -1)
			fatal("%s: fcntl", __func__);
		fault("broker.import.before");
		nimports++;
		pipe_send(&broker_env.store, MSG_IMPORT_STREAM, op, session,
		    req, p[1], NULL);
		engine_image_import(name, p[0], import_done, im);
		return;
	}
	free(im);
}

static void	inventory_next(struct inventory *);

static void
inventory_end(struct inventory *inv)
{
	struct msg_box_done	 m;

	memset(&m, 0, sizeof(m));
	if (inv->failed) {
		m.code = CODE_UNAVAILABLE;
		snprintf(m.text, sizeof(m.text), "%s", inv->why);
	}
	fault("broker.inventory.after");
	pipe_send(&broker_env.store, MSG_INVENTORY_END, inv->op, 0, 0, -1, &m);
	json_decref(inv->list);
	free(inv);
}

static void
inventory_inspected(struct engine_answer *ans, void *arg)
{
	struct inventory	*inv = arg;

	inv->flying--;
	if (ans->result == ENGINE_OK) {
		if (policy_ours(&broker_env.policy, ans->json, 0))
			broker_send_state(MSG_CONTAINER, inv->op, 0,
			    ans->json, 0);
	} else if (ans->status != 404) {
		inv->failed = 1;
		snprintf(inv->why, sizeof(inv->why), "%s", ans->text);
	}
	inventory_next(inv);
}

static void
inventory_next(struct inventory *inv)
{
	const char	*id;

	while (inv->flying < INVENTORY_WINDOW && !inv->failed &&
	    inv->next < json_array_size(inv->list)) {
		id = json_string_value(json_object_get(json_array_get(
		    inv->list, inv->next++), "Id"));
		if (id == NULL || !engine_id_ok(id)) {
			inv->failed = 1;
			snprintf(inv->why, sizeof(inv->why),
			    "a container in the list has no sound ID");
			break;
		}
		inv->flying++;
		engine_inspect(id, inventory_inspected, inv);
	}
	if (inv->flying == 0)
		inventory_end(inv);
}

static void
inventory_listed(struct engine_answer *ans, void *arg)
{
	struct inventory	*inv = arg;

	if (ans->result == ENGINE_OK)
		inv->list = json_incref(ans->json);
	else {
		inv->failed = 1;
		snprintf(inv->why, sizeof(inv->why), "%s", ans->text);
	}
	inventory_next(inv);
}

/* The list names them, inspect says how they are. */
void
broker_inventory(uint64_t op)
{
	struct inventory	*inv;

	if ((inv = calloc(1, sizeof(*inv))) == NULL)
		fatal("%s", __func__);
	inv->op = op;
	if (!broker_env.up) {
		inv->failed = 1;
		snprintf(inv->why, sizeof(inv->why), "%s", broker_env.why);
		inventory_end(inv);
		return;
	}
	fault("broker.inventory.before");
	engine_list(broker_env.policy.conf.instance, inventory_listed, inv);
}
