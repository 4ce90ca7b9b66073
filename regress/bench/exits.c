/*
 * How soon the end of a command is told while many others run: from a signal
 * that ends it, so that the way of the request is in it as well.
 */
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* One that runs for as long as nobody ends it; its name is to be freed. */
static char *
start_one(struct sandbox *c, const struct proto_sandbox *b)
{
	static char *const	 argv[] = { "sleep", "1000000", NULL };
	struct proto_exec	 req;
	struct proto_accepted	 acc;
	char			*name;

	exec_request(&req, argv);
	req.sandbox = (char *)(uintptr_t)b->id;
	req.flags = 0;
	memset(&acc, 0, sizeof(acc));
	if (sandbox_exec(c, &req, &acc) == -1)
		errx(1, "exec: %s", sandbox_error(c)->text);
	if ((name = strdup(acc.id)) == NULL)
		err(1, NULL);
	return (name);
}

void
bench_exits(void)
{
	struct samples		 s = { 0 };
	struct proto_sandbox	 b;
	struct proto_kill	 req;
	struct sandbox		*c;
	char			**name;
	double			 start;
	int			 i;

	if ((name = calloc(bench.running, sizeof(*name))) == NULL)
		err(1, NULL);
	/* Each has one more that waits for it. */
	box_create_for(&b, 2 * bench.running + 50);
	for (i = 0; i < bench.running; i++)
		name[i] = start_one(bench.conn, &b);
	c = client_new();
	subscribe(c, &b, 0);
	for (i = 0; i < bench.running && i < bench.n; i++) {
		memset(&req, 0, sizeof(req));
		req.exec = name[i];
		req.signo = SIGKILL;
		start = now();
		if (sandbox_kill(bench.conn, &req) == -1)
			client_lost("kill");
		(void)delivered(c, "exec.ended");
		sample(&s, now() - start);
	}
	title("the end of one of %d commands", bench.running);
	row(ROW_EXIT, at(&s, 0.5), 0);
	row(ROW_EXIT_99, at(&s, 0.99), 0);
	sandbox_close(c);
	box_delete(&b);
	for (i = 0; i < bench.running; i++)
		free(name[i]);
	free(name);
	samples_free(&s);
}
