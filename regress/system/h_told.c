/*
 * Clients that are attached to commands, and subscribers: prints "up" when
 * all of them are, and when the last connection is gone why it was, with how
 * many were told so.
 *
 * usage: h_told socket sandbox attached subscribers
 */
#include <sys/queue.h>

#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libsandbox.h"

#define CLIENTS_MAX	1000

struct client {
	struct sandbox	*c;
	uint32_t	 req;
	int		 up;
	int		 told;
};

struct reason {
	SLIST_ENTRY(reason)	 entry;
	char			 text[TEXT_MAX + 1];
	int			 n;
};

static SLIST_HEAD(, reason)	 reasons = SLIST_HEAD_INITIALIZER(reasons);
static struct client		 clients[CLIENTS_MAX];
static struct pollfd		 pfds[CLIENTS_MAX];

static void
attach(struct client *c, const char *box)
{
	static char		*argv[] = { "sleep", "100000", NULL };
	static char		 none[1];
	struct proto_exec	 req;

	memset(&req, 0, sizeof(req));
	req.sandbox = (char *)(uintptr_t)box;
	req.argv.v = argv;
	req.argv.n = 2;
	req.dir = none;
	req.flags = EXEC_ATTACH;
	if (sandbox_send(c->c, PROTO_EXEC, &req, &c->req) == -1)
		errx(1, "exec: %s", sandbox_error(c->c)->text);
}

/* From the first event on, of which there is one. */
static void
subscribe(struct client *c, const char *box)
{
	struct proto_events	 req;

	memset(&req, 0, sizeof(req));
	req.sandbox = (char *)(uintptr_t)box;
	req.from = 1;
	req.follow = 1;
	req.credit = 1000;
	if (sandbox_send(c->c, PROTO_EVENTS, &req, &c->req) == -1)
		errx(1, "events: %s", sandbox_error(c->c)->text);
}

static void
told(struct client *c, const struct proto_error *e)
{
	struct reason	*r;

	if (!c->up)
		errx(1, "%s", e->text);
	c->told++;
	SLIST_FOREACH(r, &reasons, entry)
		if (strcmp(r->text, e->text) == 0)
			break;
	if (r == NULL) {
		if ((r = calloc(1, sizeof(*r))) == NULL)
			err(1, NULL);
		strlcpy(r->text, e->text, sizeof(r->text));
		SLIST_INSERT_HEAD(&reasons, r, entry);
	}
	r->n++;
}

/* What is here; -1: the connection is gone. */
static int
answers(struct client *c)
{
	struct sandbox_answer	 a;
	int			 n;

	for (;;) {
		memset(&a, 0, sizeof(a));
		a.fd = -1;
		if ((n = sandbox_recv(c->c, &a, 0)) != 1)
			return (n);
		if (a.type == PROTO_ERROR)
			told(c, &a.u.error);
		else if (a.type == PROTO_ACCEPTED || a.type == PROTO_EVENT)
			c->up = 1;
		else if (a.type == PROTO_END)
			errx(1, "a request has ended");
		/* A pipe without a reader would be the end of the command. */
		a.fd = -1;
		sandbox_answer_clear(&a);
	}
}

/* Until all are up, or all are gone. */
static void
run(int n, int gone)
{
	int	 i, left;

	do {
		if (poll(pfds, n, -1) == -1)
			err(1, "poll");
		for (left = i = 0; i < n; i++) {
			if (pfds[i].revents != 0 &&
			    answers(&clients[i]) == -1) {
				if (!gone)
					errx(1, "a connection is lost");
				pfds[i].fd = -1;
			}
			left += gone ? pfds[i].fd != -1 : !clients[i].up;
		}
	} while (left > 0);
}

int
main(int argc, char *argv[])
{
	struct sandbox_error	 e;
	struct reason		*r;
	int			 i, n, attached, once = 0;

	if (argc != 5)
		errx(64, "usage: h_told socket sandbox attached subscribers");
	attached = atoi(argv[3]);
	n = attached + atoi(argv[4]);
	if (n < 1 || n > CLIENTS_MAX)
		errx(64, "too many, or none");
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < n; i++) {
		if ((clients[i].c = sandbox_open(argv[1], "told", &e)) == NULL)
			errx(1, "%s", e.text);
		pfds[i].fd = sandbox_fd(clients[i].c);
		pfds[i].events = POLLIN;
		if (i < attached)
			attach(&clients[i], argv[2]);
		else
			subscribe(&clients[i], argv[2]);
	}
	run(n, 0);
	printf("up\n");
	run(n, 1);
	for (i = 0; i < n; i++)
		once += clients[i].told == 1;
	printf("%d of %d once\n", once, n);
	SLIST_FOREACH(r, &reasons, entry)
		printf("%d: %s\n", r->n, r->text);
	return (0);
}
