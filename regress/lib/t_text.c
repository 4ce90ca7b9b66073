/*
 * What of a stranger's text may reach a terminal or a log.
 */

#include <atf-c.h>
#include <string.h>

#include "log.h"
#include "text.h"

static const struct {
	const char	*in;
	size_t		 n;		/* of text_char() */
	const char	*clean;		/* of log_clean() */
} texts[] = {
	{ "a",			1, "a" },
	{ "~ ",			1, "~ " },
	{ "\n",			0, "?" },
	{ "\033[31m",		0, "?[31m" },
	{ "\177",		0, "?" },
	{ "\303\251t\303\251",	2, "\303\251t\303\251" },
	{ "\342\202\254",	3, "\342\202\254" },
	{ "\360\237\220\241",	4, "\360\237\220\241" },
	/* U+0085 and U+009B; the same as bytes of their own */
	{ "\302\205",		0, "??" },
	{ "\302\2330m",		0, "??0m" },
	{ "\233",		0, "?" },
	/* cut off, too long, a surrogate, past the last */
	{ "\303",		0, "?" },
	{ "\342\202",		0, "??" },
	{ "\340\202\233",	0, "???" },
	{ "\300\233",		0, "??" },
	{ "\355\240\200",	0, "???" },
	{ "\364\220\200\200",	0, "????" },
	{ "\377",		0, "?" },
	/* right to left from here on */
	{ "\342\200\256abc",	0, "???abc" },
	{ "\342\201\247abc",	0, "???abc" },
};

ATF_TC(kinds);
ATF_TC_HEAD(kinds, tc)
{
	atf_tc_set_md_var(tc, "descr", "(b71) characters, controls, and what "
	    "only looks like a character");
}
ATF_TC_BODY(kinds, tc)
{
	char	 buf[64];
	size_t	 i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ATF_CHECK_EQ_MSG(texts[i].n,
		    text_char((const unsigned char *)texts[i].in),
		    "text %zu", i);
		strlcpy(buf, texts[i].in, sizeof(buf));
		log_clean(buf);
		ATF_CHECK_STREQ_MSG(texts[i].clean, buf, "text %zu", i);
	}
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, kinds);
	return (atf_no_error());
}
