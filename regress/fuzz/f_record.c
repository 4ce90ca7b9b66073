/*
 * What lies in the database, should another hand have been there: the records
 * of the log, and the rows of the state by the code that reads them at start.
 */

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "model.h"
#include "record.h"

static struct fuzz	 rows;
static uint8_t		*row;		/* the one in use */

/* Each row that is asked for is the next piece of the input. */
static int
next_row(uint8_t *key, size_t *nkey, size_t *len)
{
	struct fuzz	 r;
	int		 what;

	free(row);
	row = NULL;
	if (!fuzz_step(&rows, &what, &r))
		return (0);
	memset(key, 0, 32);
	*nkey = what & 0x80 ? 17 : 9;
	key[8] = what >> 2 & 3;
	key[16] = *nkey == 17 ? what & 3 : 0;
	row = fuzz_copy(r.p, r.len);
	*len = r.len;
	return (1);
}

int
eventdb_get(struct eventdb *e, enum eventdb_table db, const void *key,
    size_t nkey, const uint8_t **val, size_t *len)
{
	uint8_t	 k[32];
	size_t	 n;

	if (!next_row(k, &n, len))
		return (EDB_NOTFOUND);
	*val = row;
	return (EDB_OK);
}

/* Keys rise, as in a tree; a row without bytes ends the walk. */
int
eventdb_walk(struct eventdb *e, enum eventdb_table db, const void *from,
    size_t nfrom, eventdb_fn fn, void *arg)
{
	uint8_t	 k[32], last[32];
	size_t	 n, len;

	memset(last, 0, sizeof(last));
	while (next_row(k, &n, &len) && len > 0) {
		k[0] = *(const uint8_t *)from;
		if (memcmp(k, last, sizeof(k)) <= 0)
			break;
		memcpy(last, k, sizeof(last));
		if (fn(arg, k, n, row, len) != 0)
			break;
	}
	return (0);
}

/* Nor removes a row that is missing. */
int
eventdb_fail(struct eventdb *e, int error, const char *fmt, ...)
{
	abort();
}

/* Whatever reads writes nothing. */
int
eventdb_put(struct eventdb *e, enum eventdb_table db, const void *key,
    size_t nkey, const void *val, size_t len)
{
	abort();
}

int
eventdb_del(struct eventdb *e, enum eventdb_table db, const void *key,
    size_t nkey)
{
	abort();
}

void
batch_keep(struct batch *b, void *p, size_t len)
{
	abort();
}

void
batch_undo(struct batch *b, void (*fn)(void *), void *arg)
{
	abort();
}

uint64_t
times_now(void)
{
	abort();
}

void
quota_own(struct sandbox *sb)
{
	need(sb->r.state < SBX_NSTATES);
}

void
quota_disown(struct sandbox *sb)
{
	abort();
}

int
eventdb_last(struct eventdb *e, enum eventdb_table db, uint8_t *key,
    size_t nkey, const uint8_t **val, size_t *len)
{
	abort();
}

/* Of what is damaged its events would tell more. */
int
eventlog_read_sandbox(struct eventlog *l, uint64_t n, uint64_t from,
    eventlog_fn fn, void *arg)
{
	return (0);
}

int
store_detail(const struct record *r, struct kvv *kv)
{
	abort();
}

static void
clear(struct model *m)
{
	struct sandbox	*sb;
	struct exec	*ex;

	while ((sb = RB_ROOT(&m->by_n)) != NULL) {
		while ((ex = RB_ROOT(&sb->execs)) != NULL) {
			RB_REMOVE(exec_tree, &sb->execs, ex);
			model_exec_free(ex);
		}
		RB_REMOVE(sbx_by_n, &m->by_n, sb);
		sandbox_free(sb);
	}
}

static void
fuzz_model(struct fuzz *in)
{
	struct eventdb	 db;
	struct model	 m;

	memset(&db, 0, sizeof(db));
	memset(&m, 0, sizeof(m));
	rows = *in;
	/* What is damaged is told. */
	if (model_open(&m, &db) == -1)
		need(strlen(db.why) < sizeof(db.why));
	clear(&m);
	free(row);
	row = NULL;
}

static void
fuzz_log(struct fuzz *in)
{
	static const uint8_t	 prev[RECORD_HASH_LEN] = { 1 };
	static uint8_t		 buf[RECORD_FRAME_MAX];
	uint8_t			 link[RECORD_HASH_LEN], *copy;
	struct record_frame	 f;
	struct record		 r, back;
	int			 n;

	copy = fuzz_copy(in->p, in->len);
	if (record_frame(&f, copy, in->len) == -1)
		goto done;
	(void)record_check(&f, prev);
	if (record_decode(&r, &f) == -1)
		goto done;
	/* What is taken comes back, and now its hashes are right. */
	n = record_encode(buf, sizeof(buf), &r, prev, link);
	need(n == (int)(RECORD_FRAME_HEAD + f.nbody));
	need(memcmp(buf + RECORD_FRAME_HEAD + 4, f.body + 4, f.nbody - 4) == 0);
	need(record_frame(&f, buf, n) == 0 && record_check(&f, prev) == 0);
	need(record_decode(&back, &f) == 0 && back.seq == r.seq &&
	    back.ndetails == r.ndetails);
	buf[RECORD_FRAME_HEAD + in->len % (n - RECORD_FRAME_HEAD)] ^= 1;
	need(record_check(&f, prev) == -1);
done:
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz	 in = { data, len };

	if (fuzz_u8(&in) & 1)
		fuzz_model(&in);
	else
		fuzz_log(&in);
	return (0);
}
