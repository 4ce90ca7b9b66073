/*
 * Dumps: of a database that changes meanwhile, and with a bit turned.
 *
 * regress-srcs: history.c
 */
#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "history.h"
#include "logdump.h"
#include "logverify.h"

static void
part(FILE *f, struct logdump *d, size_t len)
{
	ATF_REQUIRE_EQ(fwrite(d->buf, 1, len, f), len);
	logdump_take(d, len);
}

/* Rows of the newest sandboxes change, and some go, while it is written. */
ATF_TC(changes);
ATF_TC_HEAD(changes, tc)
{
	atf_tc_set_md_var(tc, "descr", "a dump of what changes is of one "
	    "moment");
}
ATF_TC_BODY(changes, tc)
{
	struct logdump_result	 res;
	struct logdump		 d;
	struct logverify	 v;
	struct sandbox		*sb;
	char			 why[320], head[65];
	FILE			*f;
	uint64_t		 last;
	int			 i, n = 0, ret;

	history_open(history_home());
	for (i = 0; i < 30; i++)
		history_box(3, i % 2);
	history_write();
	ATF_REQUIRE((f = tmpfile()) != NULL);
	logdump_start(&d, &st.log, "0123456789abcdef0123456789abcdef", 1);
	while ((ret = logdump_slice(&d, 256)) == 1) {
		part(f, &d, d.len);
		/* Rows before and behind its place. */
		if (++n % 4 != 0 || n > 400)
			continue;
		history_box(2, n % 8 == 0);
		history_write();
		sb = model_number(&st.model, 2 * (n / 8) + 2);
		if (sb == NULL || sb->r.state != SBX_READY)
			continue;
		ATF_REQUIRE_EQ(eventdb_begin(&st.db), 0);
		sb->r.state = SBX_STOPPING;
		ATF_REQUIRE_EQ(store_event(&st.batch, sb, EV_SBX_STOP, 0, 0,
		    NULL), BATCH_OK);
		ATF_REQUIRE_EQ(model_put(&st.batch, sb), BATCH_OK);
		ATF_REQUIRE_EQ(eventdb_commit(&st.db), 0);
		eventlog_committed(&st.log);
	}
	ATF_REQUIRE_MSG(ret == 0, "%s", d.why);
	ATF_REQUIRE_MSG(n > 300, "%d slices", n);
	part(f, &d, d.len);
	logdump_end(&d);
	ATF_REQUIRE_MSG(history_prove(&v, NULL) == 0, "%s", v.why);
	last = st.log.done_seq;
	for (i = 0; i < 32; i++)
		snprintf(head + 2 * i, 3, "%02x", st.log.done_link[i]);
	history_close();
	st.batch.undos = (struct batch_undos)SLIST_HEAD_INITIALIZER(0);

	rewind(f);
	ATF_REQUIRE_EQ(eventdb_open(&st.db, history_home()), 0);
	ATF_REQUIRE_EQ(eventlog_open(&st.log, &st.db), 0);
	ATF_REQUIRE_MSG(logdump_restore(f, &st.log, &res, why,
	    sizeof(why)) == 0, "%s", why);
	ATF_REQUIRE_EQ(res.seq, last);
	ATF_REQUIRE_STREQ(res.head, head);
	ATF_REQUIRE_EQ(res.events, last);
	eventdb_close(&st.db);
	fclose(f);
}

static int
restored(const char *data, size_t len, char *why, size_t nwhy)
{
	struct logdump_result	 res;
	FILE			*f;
	int			 ret;

	ATF_REQUIRE((f = fmemopen((void *)(uintptr_t)data, len, "r")) !=
	    NULL);
	ATF_REQUIRE_EQ(eventdb_open(&st.db, history_home()), 0);
	ATF_REQUIRE_EQ(eventlog_open(&st.log, &st.db), 0);
	ret = logdump_restore(f, &st.log, &res, why, nwhy);
	eventdb_close(&st.db);
	fclose(f);
	return (ret);
}

/* One bit of it, anywhere; or it is cut there. */
ATF_TC(altered);
ATF_TC_HEAD(altered, tc)
{
	atf_tc_set_md_var(tc, "descr", "no bit of a dump can be another");
	atf_tc_set_md_var(tc, "timeout", "1800");
}
ATF_TC_BODY(altered, tc)
{
	struct logdump	 d;
	char		 why[320];
	size_t		 at, len;
	int		 i, bit, times = figure(30, 3000);

	history_open(history_home());
	history_box(1, 0);
	history_box(2, 1);
	history_write();
	logdump_start(&d, &st.log, "0123456789abcdef0123456789abcdef", 1);
	while (logdump_slice(&d, 1 << 20) == 1)
		continue;
	ATF_REQUIRE(d.done);
	history_close();
	ATF_REQUIRE_MSG(restored(d.buf, d.len, why, sizeof(why)) == 0, "%s",
	    why);
	for (i = 0; i < times; i++) {
		at = (size_t)random() % d.len;
		bit = 1 << random() % 7;
		why[0] = '\0';
		if (i % 3 == 0)
			len = at == 0 ? 1 : at;
		else {
			len = d.len;
			d.buf[at] ^= bit;
		}
		ATF_CHECK_MSG(restored(d.buf, len, why, sizeof(why)) == -1,
		    "at %zu of %zu, bit %d", at, len, bit);
		ATF_CHECK_MSG(why[0] != '\0', "no reason");
		if (len == d.len)
			d.buf[at] ^= bit;
	}
	logdump_end(&d);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, altered);
	ATF_TP_ADD_TC(tp, changes);
	return (atf_no_error());
}
