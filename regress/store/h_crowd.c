/*
 * Makes many sandboxes: such as stay, or one after the other.
 *
 * usage: h_crowd socket make number
 *	  h_crowd socket cycle number seconds
 *
 * make names them c1, c2 and so on.  cycle makes and deletes so many, or as
 * many as it can in that time if it is not 0, and prints how many it was.
 */
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libsandbox.h"

#define LINES	8

struct line {
	struct sandbox	*c;
	uint32_t	 req;		/* 0: none */
	int		 deleting;
};

static const char	*path;
static struct line	 lines[LINES];
static int		 begun, ended, wanted, stay;
static time_t		 until;		/* 0: any time */

static int
over(void)
{
	return (begun >= wanted || (until != 0 && time(NULL) >= until));
}

static void
line_create(struct line *l)
{
	static char		 none[1];
	struct proto_create	 req;

	l->req = 0;
	l->deleting = 0;
	if (over())
		return;
	begun++;
	memset(&req, 0, sizeof(req));
	req.workdir = none;
	req.wait = 1;
	if (stay)
		snprintf(req.id, sizeof(req.id), "c%d", begun);
	if (sandbox_send(l->c, PROTO_CREATE, &req, &l->req) == -1)
		errx(1, "create: %s", sandbox_error(l->c)->text);
}

static void
line_sandbox(struct line *l, const struct proto_sandbox *b, char *id,
    size_t size)
{
	if (l->deleting)
		return;
	if (strcmp(b->state, "ready") == 0)
		strlcpy(id, b->id, size);
	else if (strcmp(b->state, "pending") != 0)
		errx(1, "%s: %s: %s", b->id, b->state, b->cause);
}

/* A request is over: what comes after it. */
static void
line_next(struct line *l, char *id)
{
	struct proto_ref	 req;

	if (l->deleting || stay) {
		ended++;
		line_create(l);
		return;
	}
	memset(&req, 0, sizeof(req));
	req.id = id;
	req.wait = 1;
	l->deleting = 1;
	if (sandbox_send(l->c, PROTO_DELETE, &req, &l->req) == -1)
		errx(1, "delete: %s", sandbox_error(l->c)->text);
}

static void
line_read(struct line *l)
{
	struct sandbox_answer	 a;
	static char		 id[LINES][SBX_ID_MAX + 1];
	int			 n;

	for (;;) {
		memset(&a, 0, sizeof(a));
		if ((n = sandbox_recv(l->c, &a, 0)) == -1)
			errx(1, "%s", sandbox_error(l->c)->text);
		if (n == 0)
			return;
		if (a.type == PROTO_ERROR)
			errx(1, "%s", a.u.error.text);
		if (a.type == PROTO_SANDBOX)
			line_sandbox(l, &a.u.sandbox, id[l - lines],
			    sizeof(id[0]));
		if (a.type == PROTO_END && a.req == l->req)
			line_next(l, id[l - lines]);
		sandbox_answer_clear(&a);
	}
}

int
main(int argc, char *argv[])
{
	struct sandbox_error	 e;
	struct pollfd		 pfd[LINES];
	const char		*errstr;
	int			 i, busy;

	if (argc < 4 || argc > 5)
		errx(64, "usage: h_crowd socket make|cycle number [seconds]");
	path = argv[1];
	stay = strcmp(argv[2], "make") == 0;
	wanted = strtonum(argv[3], 1, 10000000, &errstr);
	if (errstr != NULL)
		errx(64, "%s: %s", argv[3], errstr);
	if (argc == 5 && atoi(argv[4]) != 0)
		until = time(NULL) + atoi(argv[4]);
	for (i = 0; i < LINES; i++) {
		if ((lines[i].c = sandbox_open(path, "crowd", &e)) == NULL)
			errx(1, "%s", e.text);
		pfd[i].fd = sandbox_fd(lines[i].c);
		pfd[i].events = POLLIN;
		line_create(&lines[i]);
	}
	do {
		if (poll(pfd, LINES, -1) == -1)
			err(1, "poll");
		for (busy = i = 0; i < LINES; i++) {
			if (pfd[i].revents != 0)
				line_read(&lines[i]);
			busy += lines[i].req != 0;
		}
	} while (busy > 0);
	printf("%d\n", ended);
	return (0);
}
