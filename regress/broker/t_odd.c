/*
 * Answers of an Engine that make no sense: each is an error, and nothing of it
 * is kept.
 *
 * regress-srcs: testbroker.c fakeengine.c fakes.c
 */
#include <stdio.h>
#include <unistd.h>

#include "fakes.h"
#include "usage.h"

#define HEAD	"HTTP/1.1 200 OK\r\n"

static const struct odd {
	const char	*name;
	enum fake_how	 how;
	const char	*body;
	enum code	 code;
} odds[] = {
	{ "(b72) empty", FAKE_RAW, HEAD "Content-Length: 0\r\n\r\n",
	  CODE_ENGINE_ERROR },
	{ "(b72) not JSON", FAKE_RAW, HEAD "\r\nhello", CODE_ENGINE_ERROR },
	{ "(b72) HTML", FAKE_RAW, "HTTP/1.1 502 Bad Gateway\r\n\r\n"
	  "<html>502</html>", CODE_ENGINE_ERROR },
	{ "(b72) 200 with an error", FAKE_RAW, HEAD "\r\n"
	  "{\"message\":\"failed\"}", CODE_NOT_FOUND },
	{ "(b72) a chunk is cut", FAKE_RAW, HEAD
	  "Transfer-Encoding: chunked\r\n\r\n20\r\n{\"Id\":",
	  CODE_UNAVAILABLE },
	{ "(b72) no chunk at all", FAKE_RAW, HEAD
	  "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
	  CODE_UNAVAILABLE },
	{ "(b72) 1 GiB", FAKE_BIG, NULL, CODE_ENGINE_ERROR },
	{ "(b72) depth 100", FAKE_RAW, HEAD "\r\n[[[[[[[[[[[[[[[[[[[[[[[[["
	  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
	  "[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
	  "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", CODE_ENGINE_ERROR },
	{ "(b72) no end", FAKE_ENDLESS, NULL, CODE_ENGINE_ERROR },
	{ "(b72) no Id", FAKE_RAW, HEAD "\r\n{\"Size\":1}",
	  CODE_NOT_FOUND },
	{ "(b72) Id a number", FAKE_RAW, HEAD "\r\n{\"Id\":7}",
	  CODE_NOT_FOUND },
	{ "(b72) Id a path", FAKE_RAW, HEAD "\r\n{\"Id\":\"../../x\"}",
	  CODE_NOT_FOUND },
	{ "(b73) 301", FAKE_RAW, "HTTP/1.1 301 Moved\r\nLocation: "
	  "http://localhost/other\r\nContent-Length: 0\r\n\r\n",
	  CODE_ENGINE_ERROR },
	/* Not as the same with 200 is. */
	{ "(b73) 301 that answers", FAKE_RAW, "HTTP/1.1 301 Moved\r\n\r\n"
	  "{\"Size\":1}", CODE_ENGINE_ERROR },
	{ "(b73) 401", FAKE_RAW, "HTTP/1.1 401 Unauthorized\r\n"
	  "WWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n",
	  CODE_ENGINE_ERROR },
	{ "(b73) 100 and no more", FAKE_RAW, "HTTP/1.1 100 Continue\r\n\r\n",
	  CODE_UNAVAILABLE },
	{ "(b73) 101", FAKE_RAW, "HTTP/1.1 101 Switching Protocols\r\n"
	  "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n{}",
	  CODE_ENGINE_ERROR },
	{ "(b73) HTTP/0.9", FAKE_RAW, "{\"Id\":\"sha256:aa\"}",
	  CODE_ENGINE_ERROR },
	{ "(b73) headers without an end", FAKE_HEADERS, NULL,
	  CODE_ENGINE_ERROR },
};

/* An answer that makes no sense is an error, and the last of it. */
ATF_TC_WITHOUT_HEAD(odd_image);
ATF_TC_BODY(odd_image, tc)
{
	const struct odd	*o;
	size_t			 i;

	for (i = 0; i < sizeof(odds) / sizeof(odds[0]); i++) {
		struct fake_rule	 r[] = {
			{ "GET /other", 0, FAKE_ANSWER, 0, NULL },
			{ CREATE, 0, FAKE_ANSWER, 0, NULL },
			{ "GET /v1.41/images/", 100, odds[i].how, 0,
			  odds[i].body },
			{ 0 }
		};

		o = &odds[i];
		printf("%s\n", o->name);
		fails(r, o->code, "", 0);
		printf("\t%s\n", m.failed.text);
		ATF_CHECK(m.failed.text[0] != '\0');
		ATF_CHECK(fake.seen[0] == 0 && fake.seen[1] == 0);
		/* With one that makes sense again it goes on. */
		fake_stop(&fake);
		fake_start(&fake, tb.dir, RULES({ "NONE", 0, FAKE_ANSWER, 0,
		    NULL }));
		tb_back(&tb);
		order(MSG_BOX_CREATE, MSG_BOX_STARTED);
		end();
	}
}

/* What is freed is kept for a while by the sanitizer. */
#ifdef __SANITIZE_ADDRESS__
#define GROWTH	(1L << 20)	/* KiB */
#else
#define GROWTH	(4L << 10)
#endif

/* After many answers that made no sense the broker is as large as before. */
ATF_TC_WITHOUT_HEAD(leaks);
ATF_TC_BODY(leaks, tc)
{
	const char	*soak = getenv("SOAK");
	size_t		 i, step = 3;
	long		 memory = 0;
	int		 files = 0, pass, passes = 3;

	if (soak != NULL && strcmp(soak, "yes") == 0) {
		passes = 50;
		step = 1;
	}
	begin(RULES({ "NONE", 0, FAKE_ANSWER, 0, NULL }));
	for (pass = 1; pass <= passes; pass++) {
		for (i = 0; i < sizeof(odds) / sizeof(odds[0]); i += step) {
			struct fake_rule	 r[] = {
				{ "GET /v1.41/images/", 100, odds[i].how, 0,
				  odds[i].body },
				{ "GET /v1.41/containers/json", 1,
				  odds[i].how, 0, odds[i].body },
				{ 0 }
			};

			fake_stop(&fake);
			fake_start(&fake, tb.dir, r);
			tb_back(&tb);
			order(MSG_BOX_CREATE, MSG_BOX_FAILED);
			need(tb_answer(&tb, tb_send(&tb, MSG_INVENTORY, NULL),
			    &m), MSG_INVENTORY_END);
		}
		if (pass == 1) {
			files = usage_fds(tb.pid);
			memory = usage_kb(tb.pid);
		}
	}
	/* The kept connections may be one or another. */
	ATF_CHECK_MSG(usage_fds(tb.pid) <= files + 8, "%d descriptors "
	    "after %d", usage_fds(tb.pid), files);
	ATF_CHECK_MSG(usage_kb(tb.pid) < memory + GROWTH, "%ld KiB after %ld",
	    usage_kb(tb.pid), memory);
	end();
}

/* The same as answers to what is asked until there is a sound one. */
ATF_TC_WITHOUT_HEAD(odd_inspect);
ATF_TC_BODY(odd_inspect, tc)
{
	struct fake_rule	 r[8];
	size_t			 i, n = 0;

	memset(r, 0, sizeof(r));
	for (i = 0; i < sizeof(odds) / sizeof(odds[0]); i++) {
		/* What is JSON is somebody else's container, and so told. */
		if (odds[i].code == CODE_NOT_FOUND || i % 3 != 0)
			continue;
		r[n].request = INSPECT;
		r[n].times = 1;
		r[n].how = odds[i].how;
		r[n++].body = odds[i].body;
		ATF_REQUIRE(n < 8);
	}
	lives(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, leaks);
	ATF_TP_ADD_TC(tp, odd_image);
	ATF_TP_ADD_TC(tp, odd_inspect);
	return (atf_no_error());
}
