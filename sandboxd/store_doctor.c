/*
 * What protects the host, for whom may know: the parent looks anew for each
 * who asks, since what it is asked about changes without a word to us.
 */
#include <sys/types.h>

#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "store.h"

int
doctor_recv_doctor(struct chan *ch, struct frame *f, void *msg)
{
	struct asker	 a;

	(void)ch;
	if (request_begin(&a, f, msg) == -1 ||
	    rights_check(&a, RIGHT_ADMIN, NULL) == -1)
		return (0);
	audit_allowed(&a, "doctor", NULL);
	pipe_send(&st.parent, MSG_DOCTOR, 0, a.session, a.req, -1, NULL);
	return (0);
}

int
doctor_recv_host(struct chan *ch, struct frame *f, void *msg)
{
	struct msg_host		*m = msg;
	struct doctor_facts	 facts;
	struct proto_control	 c;
	struct asker		 a = { .session = f->session, .req = f->req };
	size_t			 i;

	(void)ch;
	if (session_find(f->session) == NULL)
		return (0);
	if (m->code != CODE_OK) {
		answer_error(&a, m->code, NULL, "admin: not permitted");
		return (0);
	}
	facts.procs = st.procs;
	facts.nprocs = st.nprocs;
	facts.host = m;
	facts.engine = &st.engine;
	facts.conf = &st.conf;
	facts.damage = st.damage;
	for (i = 0; doctor_judge(i, &facts, &c); i++)
		answer(&a, PROTO_CONTROL, &c);
	answer_end(&a);
	return (0);
}

/* The controls of a sandbox: as its container was at its last start. */
void
doctor_box(const struct asker *a, struct sandbox *sb)
{
	struct msg_facts	 facts;
	struct proto_create	 conf;
	struct proto_control	 c;
	struct doctor_box	 box;
	size_t			 i;

	memset(&box, 0, sizeof(box));
	memset(&conf, 0, sizeof(conf));
	if (model_get_facts(&st.model, sb->r.n, &facts) == 0)
		box.facts = &facts;
	box.conf = sb->conf;
	if (sb->conf == NULL) {
		(void)model_get_conf(&st.model, sb->r.n, &conf);
		box.conf = &conf;
	}
	box.memory = sb->r.memory_seen;
	box.mcpus = sb->r.mcpus_seen;
	box.pids = sb->r.pids_seen;
	/* An update of one that nobody can ask leaves nothing that was read. */
	box.unread = sb->r.state != SBX_READY && box.memory == 0 &&
	    box.mcpus == 0 && box.pids == 0;
	for (i = 0; doctor_judge_box(i, &box, &c); i++)
		answer(a, PROTO_CONTROL, &c);
	msg_clear(&conf, proto_def(PROTO_CREATE));
}
