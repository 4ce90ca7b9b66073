/* The good guest beside those that are tested, see harness.h. */

#include <atf-c.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* An exec of the good guest, from start to end. */
void
good_exec(struct rig *r, struct player *p, uint64_t k)
{
	struct gp_frame	 f;
	struct buf	 out = { 0 };
	uint64_t	 gaps;
	uint32_t	 req;

	start_exec(r, p->n, k, EXEC_ATTACH | EXEC_MERGE, 0);
	req = r->req;
	player_frame(p, GP_START, &f);
	ATF_REQUIRE_EQ(k, f.k);
	player_output(p, k, GP_STDOUT, 0, "fine", 4);
	player_exit(p, k, 0, 4, 0);
	read_stream(r, req, GP_STDOUT, &out, &gaps);
	ATF_REQUIRE(out.len == 4 && memcmp(out.data, "fine", 4) == 0);
	free(out.data);
	while (from_store(r, MSG_ENDED)->u.ended.n != p->n)
		;
	forget_exec(r, p->n, k);
	player_frame(p, GP_FORGET, &f);
}

void
unlisten(struct rig *r, uint64_t n)
{
	struct msg_listen	 m = { .n = n, .owner = OWNER };

	say(r, MSG_UNLISTEN, 0, 0, &m);
}
