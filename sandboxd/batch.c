/*
 * Group commit.
 *
 * Requests queue; when the process has read what its pipes hold it runs all
 * of them in one transaction.  Their bodies change the database and the state
 * in memory, so that they see each other, and each says how to put back what
 * it changed.  Nothing is sent and nothing else runs until the commit has
 * returned: if it fails the memory is as it was before, the sequences are
 * used again, and every request of the batch is refused.  A body that refuses
 * its request must do so before it changes anything.
 *
 * A body that cannot be done, as one that meets rows which contradict each
 * other, takes nobody with it: the batch is tried again without it.  Where the
 * database itself fails that does not help, so it is done a few times only.
 *
 * Gating items ask for a commit at once.  Following ones go with the next.
 */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "fault.h"
#include "log.h"

void
batch_init(struct batch *b, struct eventdb *db, struct eventlog *l)
{
	memset(b, 0, sizeof(*b));
	b->db = db;
	b->log = l;
	STAILQ_INIT(&b->queue);
	STAILQ_INIT(&b->afters);
	SLIST_INIT(&b->undos);
}

static void
batch_add(struct batch *b, batch_body body, batch_done done, void *arg,
    int gating)
{
	struct batch_item	*it;

	/* Where nothing is written all of it has failed already. */
	if (b->db->readonly) {
		if (done != NULL)
			done(arg, BATCH_UNAVAIL);
		return;
	}
	if ((it = calloc(1, sizeof(*it))) == NULL)
		fatal("%s", __func__);
	it->body = body;
	it->done = done;
	it->arg = arg;
	it->gating = gating;
	STAILQ_INSERT_TAIL(&b->queue, it, entry);
	b->nqueue++;
	b->ngating += gating;
	if (b->wake != NULL)
		b->wake(b, gating || b->nqueue >= BATCH_MAX);
}

void
batch_gating(struct batch *b, batch_body body, batch_done done, void *arg)
{
	batch_add(b, body, done, arg, 1);
}

void
batch_following(struct batch *b, batch_body body, batch_done done, void *arg)
{
	batch_add(b, body, done, arg, 0);
}

/* Remembers bytes as they are now. */
void
batch_keep(struct batch *b, void *p, size_t len)
{
	struct batch_undo	*u;

	if ((u = calloc(1, sizeof(*u) + len)) == NULL)
		fatal("%s", __func__);
	u->arg = p;
	u->len = len;
	memcpy(u->old, p, len);
	SLIST_INSERT_HEAD(&b->undos, u, entry);
}

void
batch_undo(struct batch *b, void (*fn)(void *), void *arg)
{
	struct batch_undo	*u;

	if ((u = calloc(1, sizeof(*u))) == NULL)
		fatal("%s", __func__);
	u->undo = fn;
	u->arg = arg;
	SLIST_INSERT_HEAD(&b->undos, u, entry);
}

void
batch_after(struct batch *b, void (*fn)(void *), void *arg)
{
	struct batch_after	*a;

	if ((a = calloc(1, sizeof(*a))) == NULL)
		fatal("%s", __func__);
	a->fn = fn;
	a->arg = arg;
	STAILQ_INSERT_TAIL(&b->afters, a, entry);
}

static void
batch_settle(struct batch *b, int failed)
{
	struct batch_undo	*u;
	struct batch_after	*a;

	while ((u = SLIST_FIRST(&b->undos)) != NULL) {
		SLIST_REMOVE_HEAD(&b->undos, entry);
		if (failed && u->undo != NULL)
			u->undo(u->arg);
		else if (failed)
			memcpy(u->arg, u->old, u->len);
		free(u);
	}
	if (!failed)
		return;
	while ((a = STAILQ_FIRST(&b->afters)) != NULL) {
		STAILQ_REMOVE_HEAD(&b->afters, entry);
		free(a);
	}
}

/*
 * Runs the bodies and commits; returns BATCH_OK or why not, and which of them
 * it was, if one.
 */
static int
batch_commit(struct batch *b, struct batch_items *items,
    struct batch_item **whose)
{
	struct batch_item	*it;
	uint64_t		 seq = b->log->seq;
	int			 ret = BATCH_OK;

	*whose = NULL;
	if (eventdb_begin(b->db) == -1)
		goto fail;
	b->wrote = 0;
	STAILQ_FOREACH(it, items, entry) {
		if (it->apart)
			continue;
		it->result = it->body(b, it->arg);
		if (it->result == BATCH_FAIL) {
			*whose = it;
			goto fail;
		}
		if (it->result == BATCH_OK)
			b->wrote = 1;
	}
	if (!b->wrote) {
		eventdb_abort(b->db);
		batch_settle(b, 0);
		return (BATCH_OK);
	}
	if (eventdb_commit(b->db) == -1)
		goto fail;
	b->commits++;
	eventlog_committed(b->log);
	batch_settle(b, 0);
	/* Behind the log it does no harm, so its failure is no refusal. */
	if (b->log->seq != seq &&
	    eventdb_mark(b->db, b->log->seq, b->log->link) == -1)
		log_warnx("%s", b->db->why);
	return (BATCH_OK);
 fail:
	log_warnx("batch of events failed: %s", b->db->why);
	ret = eventdb_nospace(b->db) ? BATCH_NOSPACE : BATCH_UNAVAIL;
	eventdb_abort(b->db);
	eventlog_aborted(b->log);
	batch_settle(b, 1);
	/* Nothing can be read or written in it any more. */
	if (b->db->panic) {
		eventdb_note_damage(b->db);
		fatalx("database: %s", b->db->why);
	}
	return (ret);
}

/* With room made, if that is what is missing, and without whom it fails for. */
static int
batch_try(struct batch *b, struct batch_items *items)
{
	struct batch_item	*whose;
	int			 ret, tries = 0;

	for (;;) {
		ret = batch_commit(b, items, &whose);
		if (ret == BATCH_NOSPACE && b->db->ballast) {
			/* Deletes and ends must go through: they make room. */
			log_warnx("no space for the event log: ballast "
			    "released");
			eventdb_ballast_release(b->db);
		} else if (ret == BATCH_UNAVAIL && whose != NULL &&
		    STAILQ_NEXT(STAILQ_FIRST(items), entry) != NULL &&
		    tries++ < BATCH_APART) {
			whose->apart = 1;
			whose->result = BATCH_UNAVAIL;
		} else
			return (ret);
	}
}

/* Runs what is queued now; returns how many items wait still. */
int
batch_run(struct batch *b)
{
	struct batch_items	 items;
	struct batch_item	*it;
	struct batch_after	*a;
	int			 ret, n = 0;

	STAILQ_INIT(&items);
	if (b->running)
		return (b->nqueue);
	b->running = 1;
	while (n < BATCH_MAX && (it = STAILQ_FIRST(&b->queue)) != NULL) {
		STAILQ_REMOVE_HEAD(&b->queue, entry);
		STAILQ_INSERT_TAIL(&items, it, entry);
		b->nqueue--;
		b->ngating -= it->gating;
		n++;
	}
	if (n == 0) {
		b->running = 0;
		return (0);
	}
	ret = batch_try(b, &items);
	while ((it = STAILQ_FIRST(&items)) != NULL) {
		STAILQ_REMOVE_HEAD(&items, entry);
		if (it->done != NULL)
			it->done(it->arg, ret == BATCH_OK ? it->result : ret);
		free(it);
	}
	while ((a = STAILQ_FIRST(&b->afters)) != NULL) {
		STAILQ_REMOVE_HEAD(&b->afters, entry);
		a->fn(a->arg);
		free(a);
	}
	b->running = 0;
	if (ret == BATCH_OK && b->committed != NULL)
		b->committed(b);
	fault("store.batch.done");
	return (b->nqueue);
}
