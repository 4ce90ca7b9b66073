/*
 * Subscribers that wait, and the delivery of an event.
 *
 * An event has the time when it was written into its batch, so what is
 * measured has the sync of the batch in it.
 */
#include <err.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

/* To the sandbox, or to all that have a label that only it has. */
void
subscribe(struct sandbox *c, const struct proto_sandbox *b, int by_label)
{
	struct proto_status_info st;
	struct proto_sandbox	 seen;
	struct proto_events	 req;
	uint32_t		 n;

	memset(&seen, 0, sizeof(seen));
	if (sandbox_show(c, b->id, &seen) == -1)
		errx(1, "show: %s", sandbox_error(c)->text);
	memset(&req, 0, sizeof(req));
	if (by_label) {
		if (sandbox_status(c, NULL, NULL, &st) == -1 ||
		    kvv_add(&req.labels, "bench", "idle") == -1)
			errx(1, "status: %s", sandbox_error(c)->text);
		req.from = st.events + 1;
		msg_clear(&st, proto_def(PROTO_STATUS_INFO));
	} else {
		req.sandbox = seen.id;
		req.from = seen.seq + 1;
	}
	req.follow = 1;
	/* It is never given more. */
	req.credit = UINT32_MAX;
	if (sandbox_send(c, PROTO_EVENTS, &req, &n) == -1)
		errx(1, "events: %s", sandbox_error(c)->text);
	/* Answered in order: it is there when this is. */
	if (sandbox_ping(c) == -1)
		errx(1, "ping: %s", sandbox_error(c)->text);
	kvv_clear(&req.labels);
	msg_clear(&seen, proto_def(PROTO_SANDBOX));
}

/* Takes events up to one of the type, and tells how old that is; us. */
double
delivered(struct sandbox *c, const char *type)
{
	struct sandbox_answer	 a;
	struct timespec		 ts;
	double			 age = -1;

	while (age < 0) {
		memset(&a, 0, sizeof(a));
		if (sandbox_recv(c, &a, -1) != 1)
			errx(1, "events: %s", sandbox_error(c)->text);
		if (a.type != PROTO_EVENT)
			errx(1, "events: an answer of type %u: %s", a.type,
			    a.type == PROTO_ERROR ? a.u.error.text : "");
		clock_gettime(CLOCK_REALTIME, &ts);
		if (strcmp(a.u.event.type, type) == 0)
			age = ts.tv_sec * 1e6 + ts.tv_nsec / 1e3 -
			    a.u.event.time / 1e3;
		sandbox_answer_clear(&a);
	}
	return (age);
}

/* Both events that are synced; what follows with them may wait longer. */
static void
watch_one(struct samples *s, struct sandbox *c)
{
	static char *const	 none[] = { "/nothing/of/the/kind", NULL };
	struct proto_exec	 req;
	uint32_t		 n;

	exec_request(&req, none);
	if (sandbox_send(bench.conn, PROTO_EXEC, &req, &n) == -1)
		client_lost("exec");
	sample(s, delivered(c, "exec.create"));
	sample(s, delivered(c, "exec.ended"));
	if (sandbox_finish(bench.conn, n, NULL, NULL, NULL) == -1)
		client_lost("exec");
}

/* Until the last of them has it: for each. */
static double
deliver_all(struct sandbox **c, int n)
{
	double	 age, last = 0;
	int	 i;

	exec_one();
	for (i = 0; i < n; i++)
		if ((age = delivered(c[i], "exec.ended")) > last)
			last = age;
	return (last / n);
}

void
bench_subscribers(void)
{
	struct samples		 one = { 0 }, sync2 = { 0 };
	struct proto_sandbox	 idle, busy = bench.box;
	struct sandbox		*c, **many;
	struct usage		 none, u;
	pid_t			 pid[DAEMON_MAX];
	double			 all;
	int			 i, n, ms = bench.n >= 100 ? 10000 : 500;

	if ((many = calloc(bench.subs, sizeof(struct sandbox *))) == NULL)
		err(1, NULL);
	box_create_as(&idle, "idle");
	n = daemon_pids(pid, DAEMON_MAX);
	pause_ms(200);
	/* Two rounds of the parent's questions are in each of the two times. */
	procs_idle(&none, pid, n, ms);
	for (i = 0; i < bench.subs; i++) {
		many[i] = client_new();
		subscribe(many[i], &idle, i % 2);
	}
	pause_ms(200);
	procs_idle(&u, pid, n, ms);
	c = client_new();
	subscribe(c, &busy, 0);
	for (i = 0; i < bench.n; i++) {
		timed(&sync2, host_sync);
		watch_one(&one, c);
	}
	sandbox_close(c);
	bench.box = idle;
	all = deliver_all(many, bench.subs);
	bench.box = busy;
	title("%d idle subscribers, half by label", bench.subs);
	row(ROW_SUB_CPU_ALL, u.cpu, none.cpu);
	row(ROW_SUB_CPU, u.cpu > none.cpu ? u.cpu - none.cpu : 0, 0);
	row(ROW_DELIVERY, at(&one, 0.5), at(&sync2, 0.5));
	row(ROW_DELIVERY_99, at(&one, 0.99), at(&sync2, 0.99));
	row(ROW_DELIVERY_ALL, all, 0);
	for (i = 0; i < bench.subs; i++)
		sandbox_close(many[i]);
	free(many);
	box_delete(&idle);
	samples_free(&one);
	samples_free(&sync2);
}
