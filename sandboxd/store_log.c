/*
 * The log as a whole, for administrators: its verification, and its dump.
 * Both are long, and so done in slices among the requests.
 */
#include <sys/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "logdump.h"
#include "logverify.h"
#include "store.h"

#define DUMP_CHUNK	32768		/* bytes of a DUMP, at most */
#define DUMP_CREDIT	16		/* of them under way by default */
#define DUMP_AHEAD	64		/* and at most */

struct verify {
	struct asker		 a;
	struct logverify	 v;
	struct event		 turn;
};

static void
verify_free(struct verify *q)
{
	logverify_end(&q->v);
	free(q);
}

static void
verify_answer(struct verify *q)
{
	struct proto_verify	 m;
	size_t			 i;

	memset(&m, 0, sizeof(m));
	m.events = q->v.v.events;
	m.skeletons = q->v.v.skeletons;
	m.anchor = q->v.v.anchor;
	m.newest = q->v.v.next - 1;
	m.sandboxes = q->v.nboxes;
	m.execs = q->v.nexecs;
	m.found = q->v.found;
	for (i = 0; i < sizeof(q->v.v.link); i++)
		snprintf(m.head + 2 * i, 3, "%02x", q->v.v.link[i]);
	answer(&q->a, PROTO_VERIFY, &m);
	answer_end(&q->a);
}

static void
verify_turn(int fd, short event, void *arg)
{
	struct verify	*q = arg;

	(void)fd;
	(void)event;
	/* Nobody waits for it any more. */
	if (session_find(q->a.session) == NULL) {
		verify_free(q);
		return;
	}
	fault("store.verify.before");
	switch (logverify_slice(&q->v)) {
	case 1:
		timer_set(&q->turn, verify_turn, q, 0);
		return;
	case 0:
		if (damaged())
			answer_error(&q->a, CODE_INTERNAL, NULL, "event log: "
			    "%s: what can be read is whole, up to event %llu",
			    st.damage, (unsigned long long)q->v.v.next - 1);
		else
			verify_answer(q);
		break;
	default:
		if (damaged()) {
			answer_error(&q->a, CODE_INTERNAL, NULL, "event log: "
			    "%.200s: and of what can be read: %.200s",
			    st.damage, q->v.why);
			break;
		}
		log_warnx("event log: %s", q->v.why);
		answer_error(&q->a, q->v.absent ? CODE_NOT_FOUND :
		    CODE_INTERNAL, NULL, "event log: %s", q->v.why);
		break;
	}
	verify_free(q);
}

int
log_recv_verify(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_log_verify	*m = msg;
	struct verify		*q;
	struct asker		 a;
	uint8_t			 head[RECORD_HASH_LEN];

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    rights_check(&a, RIGHT_ADMIN, NULL) == -1)
		return (0);
	if (m->head[0] != '\0' && logverify_head(head, m->head) == -1) {
		answer_error(&a, CODE_INVALID_ARGUMENT, "head", "invalid head: "
		    "must be 64 hexadecimal digits");
		return (0);
	}
	if ((q = calloc(1, sizeof(*q))) == NULL)
		fatal("%s", __func__);
	q->a = a;
	audit_allowed(&a, "log_verify", NULL);
	logverify_start(&q->v, &st.log, m->head[0] == '\0' ? NULL : head);
	timer_set(&q->turn, verify_turn, q, 0);
	return (0);
}

/* One at a time: each of them notes what changes while it goes on. */
static struct dump {
	struct asker		 a;
	struct logdump		 d;
	uint64_t		 credit;
	int			 active;
	struct event		 turn;
	struct event		 slow;
} dump;

static void	dump_turn(int, short, void *);

int
log_dumping(void)
{
	return (dump.active);
}

static void
dump_free(void)
{
	timer_del(&dump.turn);
	timer_del(&dump.slow);
	logdump_end(&dump.d);
	dump.active = 0;
	/* What was not collected meanwhile. */
	retain_schedule();
}

static void
dump_slow(int fd, short event, void *arg)
{
	(void)fd;
	(void)event;
	(void)arg;
	answer_error(&dump.a, CODE_DEADLINE_EXCEEDED, NULL, "nothing of the "
	    "dump was taken for %d seconds", STORE_SLOW / 1000);
	dump_free();
}

static void
dump_send(size_t len)
{
	struct proto_dump	 m;

	m.data.data = (uint8_t *)dump.d.buf;
	m.data.len = len;
	answer(&dump.a, PROTO_DUMP, &m);
	logdump_take(&dump.d, len);
	dump.credit--;
}

static void
dump_fail(void)
{
	log_warnx("dump of the event log: %s", dump.d.why);
	answer_error(&dump.a, dump.d.nchanged == LOGDUMP_CHANGED ?
	    CODE_UNAVAILABLE : CODE_INTERNAL, NULL, "event log: %s",
	    dump.d.why);
	dump_free();
}

static void
dump_turn(int fd, short event, void *arg)
{
	int	 ret = 1;

	(void)fd;
	(void)event;
	(void)arg;
	fault("store.dump.before");
	if (dump.d.len < DUMP_CHUNK &&
	    (ret = logdump_slice(&dump.d, DUMP_CHUNK)) == -1) {
		dump_fail();
		return;
	}
	while (dump.credit > 0 && dump.d.len >= DUMP_CHUNK)
		dump_send(DUMP_CHUNK);
	if (dump.d.done && dump.credit > 0 && dump.d.len > 0)
		dump_send(dump.d.len);
	if (dump.d.done && dump.d.len == 0) {
		fault("store.dump.after");
		answer_end(&dump.a);
		dump_free();
	} else if (dump.credit > 0)
		timer_set(&dump.turn, dump_turn, NULL, 0);
	else
		timer_set(&dump.slow, dump_slow, NULL, STORE_SLOW);
}

int
log_recv_dump(struct chan *ch, struct frame *f, void *msg)
{
	struct proto_log_dump	*m = msg;
	struct asker		 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    rights_check(&a, RIGHT_ADMIN, NULL) == -1)
		return (0);
	if (dump.active) {
		answer_error(&a, CODE_CONFLICT, NULL, "another dump is being "
		    "made");
		return (0);
	}
	audit_allowed(&a, "log_dump", NULL);
	memset(&dump, 0, sizeof(dump));
	dump.active = 1;
	dump.a = a;
	dump.credit = m->credit == 0 ? DUMP_CREDIT : m->credit;
	if (dump.credit > DUMP_AHEAD)
		dump.credit = DUMP_AHEAD;
	logdump_start(&dump.d, &st.log, st.conf.instance, store_now());
	timer_set(&dump.turn, dump_turn, NULL, 0);
	return (0);
}

/* 1: it was for the dump. */
int
log_recv_credit(uint64_t session, uint32_t req, uint32_t n)
{
	if (!dump.active || dump.a.session != session || dump.a.req != req)
		return (0);
	if (n == 0)
		return (1);
	dump.credit += n;
	if (dump.credit > DUMP_AHEAD)
		dump.credit = DUMP_AHEAD;
	timer_del(&dump.slow);
	timer_set(&dump.turn, dump_turn, NULL, 0);
	return (1);
}

void
log_gone(const struct session *se)
{
	if (dump.active && dump.a.session == se->number)
		dump_free();
}
