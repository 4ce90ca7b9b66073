/*
 * Each message between the processes, in every form that its table of fields
 * gives: the decoder refuses what it must, and takes the rest.
 *
 * regress-objs: messages.o
 * regress-srcs: evil_msg.c evil_odd.c evil_says.c
 */

#include <atf-c.h>
#include <stdlib.h>
#include <string.h>

#include "evil_msg.h"
#include "evil_says.h"
#include "runner.h"
#include "sandboxd.h"

static void *
room(const struct msg_def *def)
{
	void	*st;

	ATF_REQUIRE((st = malloc(def->size + 1)) != NULL);
	return (st);
}

static unsigned int
forms(const struct msg_def *def, enum evil_form form, size_t field)
{
	msgpack_sbuffer	 sb;
	unsigned int	 n;
	void		*st = room(def);
	int		 ret;

	for (n = 0;; n++) {
		msgpack_sbuffer_init(&sb);
		if (!evil_message(&sb, def, form, field, n)) {
			msgpack_sbuffer_destroy(&sb);
			break;
		}
		ret = msg_decode_array(st, def, (const uint8_t *)sb.data,
		    sb.size);
		if (ret == 0)
			msg_clear(st, def);
		if ((ret == 0) != (form == EVIL_TAKEN))
			atf_tc_fail("%s, field %zu, form %u: %s", def->name,
			    field, n, ret == 0 ? "taken" : "refused");
		msgpack_sbuffer_destroy(&sb);
	}
	free(st);
	return (n);
}

ATF_TC(forms);
ATF_TC_HEAD(forms, tc)
{
	atf_tc_set_md_var(tc, "descr", "every message between the processes "
	    "with every field missing, of another type, at and past its "
	    "bounds");
}
ATF_TC_BODY(forms, tc)
{
	const struct msg_def	*def;
	unsigned int		 msgs = 0, taken = 0, refused = 0;
	uint32_t		 type;
	size_t			 i;

	for (type = 0; type < MSG_MAX + 10; type++) {
		if ((def = msg_def(type)) == NULL)
			continue;
		msgs++;
		for (i = 0; i <= def->nfields; i++) {
			taken += forms(def, EVIL_TAKEN, i);
			refused += forms(def, EVIL_REFUSED, i);
		}
	}
	printf("%u messages, %u forms taken, %u refused\n", msgs, taken,
	    refused);
	ATF_CHECK(msgs > 80);
	ATF_CHECK(taken > 2000);
	ATF_CHECK(refused > 2000);
}

ATF_TC(said);
ATF_TC_HEAD(said, tc)
{
	atf_tc_set_md_var(tc, "descr", "each message is one that an "
	    "attacker plays");
}
ATF_TC_BODY(said, tc)
{
	const struct evil_says	*s;
	uint32_t		 type;
	size_t			 i;
	int			 any;

	for (type = 0; type < MSG_MAX + 10; type++)
		ATF_CHECK_MSG(msg_def(type) == NULL ||
		    evil_said(NULL, NULL, type), "nobody says %s",
		    msg_name(type));
	for (s = evil_says; s < evil_says + evil_nsays; s++) {
		for (any = 0, type = s->first; type < s->end; type++)
			any += msg_def(type) != NULL;
		ATF_CHECK_MSG(any > 0, "from %u there is nothing to say",
		    s->first);
	}
	/* As who gets them has them. */
	ATF_CHECK(runner_store_ntable > 10);
	for (i = 0; i < runner_store_ntable; i++)
		ATF_CHECK_MSG(evil_said("store", "runner",
		    runner_store_table[i].type), "%s",
		    msg_name(runner_store_table[i].type));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, forms);
	ATF_TP_ADD_TC(tp, said);
	return (atf_no_error());
}
