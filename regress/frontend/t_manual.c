/* The manual page of the protocol names each message, field and code. */

#include <sys/types.h>

#include <atf-c.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto.h"

static char	*page;

static void
page_read(void)
{
	char		 path[4096];
	const char	*top;
	FILE		*f;
	size_t		 n;

	if ((top = getenv("SBX_TOP")) == NULL)
		top = "../..";
	snprintf(path, sizeof(path), "%s/man/sandboxd-protocol.7", top);
	ATF_REQUIRE_MSG((f = fopen(path, "r")) != NULL, "%s", path);
	ATF_REQUIRE((page = calloc(1, 1 << 20)) != NULL);
	n = fread(page, 1, (1 << 20) - 1, f);
	ATF_REQUIRE(n > 0);
	fclose(f);
}

/* The text of one message, up to the next one's. */
static char *
section(const struct msg_def *def)
{
	char	 head[128], *from, *to, *copy;
	size_t	 i;

	snprintf(head, sizeof(head), ".It %s Pq %u\n", def->name, def->type);
	for (i = 4; head[i] != ' '; i++)
		head[i] = toupper((unsigned char)head[i]);
	from = strstr(page, head);
	ATF_REQUIRE_MSG(from != NULL, "not in the manual: %s", head);
	for (to = from + 1; (to = strstr(to, "\n.It ")) != NULL; to++)
		if (isupper((unsigned char)to[5]) &&
		    isupper((unsigned char)to[6]))
			break;
	copy = to == NULL ? strdup(from) : strndup(from, to - from);
	ATF_REQUIRE(copy != NULL);
	return (copy);
}

ATF_TC_WITHOUT_HEAD(messages);
ATF_TC_BODY(messages, tc)
{
	const struct msg_def	*def;
	char			 item[128], *text, *p;
	uint32_t		 type;
	size_t			 i, n;

	page_read();
	for (type = 1; type < PROTO_MAX; type++) {
		if ((def = proto_def(type)) == NULL)
			continue;
		text = section(def);
		for (i = 0; i < def->nfields; i++) {
			snprintf(item, sizeof(item), "\n.It Va %s Pq ",
			    def->fields[i].name);
			p = strstr(text, item);
			ATF_CHECK_MSG(p != NULL, "%s: no %s", def->name,
			    def->fields[i].name);
			if (p == NULL)
				continue;
			p[0] = ' ';
			ATF_CHECK_EQ_MSG((def->fields[i].flags & M_OPT) != 0,
			    strstr(p, "optional\n") != NULL &&
			    strstr(p, "optional\n") < strchr(p, '\n'),
			    "%s: %s", def->name, def->fields[i].name);
		}
		/* And no field that there is not. */
		for (n = 0, p = text; (p = strstr(p, ".It Va ")) != NULL; p++)
			n++;
		ATF_CHECK_EQ_MSG(def->nfields, n, "%s", def->name);
		free(text);
	}
	free(page);
}

ATF_TC_WITHOUT_HEAD(codes);
ATF_TC_BODY(codes, tc)
{
	char	 item[128];
	int	 code;

	page_read();
	for (code = CODE_OK + 1; code < CODE_MAX; code++) {
		snprintf(item, sizeof(item), "\n.It Li %s\n", code_name(code));
		ATF_CHECK_MSG(strstr(page, item) != NULL, "no %s",
		    code_name(code));
	}
	free(page);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, messages);
	ATF_TP_ADD_TC(tp, codes);
	return (atf_no_error());
}
