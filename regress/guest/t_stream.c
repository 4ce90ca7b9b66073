/* Output and input, byte by byte.  regress-srcs: harness.c */

#include <atf-c.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define MIB	(1024 * 1024)

static uint8_t *
noise(size_t len)
{
	uint8_t		*p;
	uint64_t	 x = 88172645463325252ULL;
	size_t		 i;

	ATF_REQUIRE((p = malloc(len)) != NULL);
	for (i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = x;
	}
	return (p);
}

/* All of data to k, taking what comes meanwhile; from is where to begin. */
static void
feed(struct rig *r, uint64_t k, const uint8_t *data, size_t len, size_t from)
{
	double	 end = rig_now() + 120;
	size_t	 n;

	while (from < len) {
		n = rig_input(r, k, data + from, len - from, from);
		from += n;
		ATF_REQUIRE(n > 0 || rig_pump(r, 60000) || rig_now() < end);
		while (rig_pump(r, 0))
			;
	}
}

static void
wait_len(struct rig *r, uint64_t k, int i, size_t len)
{
	double	 end = rig_now() + 60;

	while (r->jobs[k].out[i].len < len) {
		rig_pump(r, 1000);
		ATF_REQUIRE(rig_now() < end);
	}
}

ROOT_TC(bytes, "all 256 values, two streams apart, no newline at the end")
{
	struct rig	*r = rig_new();
	struct job	*j;
	char		 path[160];
	uint8_t		 all[256];
	FILE		*fp;
	int		 i;

	(void)tc;
	for (i = 0; i < 256; i++)
		all[i] = i;
	snprintf(path, sizeof(path), "%s/all", r->work);
	ATF_REQUIRE((fp = fopen(path, "w")) != NULL);
	ATF_REQUIRE(fwrite(all, 1, 256, fp) == 256);
	fclose(fp);
	rig_boot(r);
	j = rig_run(r, 1, "cat all; printf err >&2; cat all");
	ATF_CHECK_EQ(512, j->out[0].len);
	ATF_CHECK(memcmp(j->out[0].data, all, 256) == 0);
	ATF_CHECK(memcmp(j->out[0].data + 256, all, 256) == 0);
	ATF_CHECK(buf_is(&j->out[1], "err"));
	rig_sh(r, 2, GP_START_MERGE, 0, 0, "echo a; echo b >&2; echo c");
	rig_until(r, &r->jobs[2].ended);
	ATF_CHECK(buf_is(&r->jobs[2].out[0], "a\nb\nc\n"));
	ATF_CHECK_EQ(0, r->jobs[2].ex.err_len);
	j = rig_run(r, 3, "exec >&- 2>&-; exit 5");
	ATF_CHECK_EQ(5, j->ex.code);
	rig_end(r);
}

ROOT_TC(volume, "32 MiB through, with the other stream beside it")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	size_t		 i;

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "yes 0123456 | head -c 33554432 & "
	    "yes abcdefg | head -c 1048576 >&2; wait");
	rig_until(r, &j->ended);
	ATF_REQUIRE_EQ(32 * MIB, j->out[0].len);
	ATF_REQUIRE_EQ(MIB, j->out[1].len);
	for (i = 0; i < 32 * MIB; i += 8)
		ATF_REQUIRE(memcmp(j->out[0].data + i, "0123456\n", 8) == 0);
	for (i = 0; i < MIB; i += 8)
		ATF_REQUIRE(memcmp(j->out[1].data + i, "abcdefg\n", 8) == 0);
	rig_end(r);
}

ROOT_TC(pressure, "without acknowledgements a command waits, others do not")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	uint64_t	 k;

	(void)tc;
	rig_boot(r);
	j->hold = 1;
	rig_sh(r, 1, 0, 0, 0, "echo begin >&2; "
	    "head -c 3000000 /dev/zero; echo done >&2; exit 6");
	wait_len(r, 1, 0, GP_WINDOW);
	wait_len(r, 1, 1, 6);
	for (k = 2; k < 10; k++)
		ATF_CHECK_EQ(7, rig_run(r, k, "exit 7")->ex.code);
	ATF_CHECK_EQ(GP_WINDOW, j->out[0].len);
	ATF_CHECK_EQ(6, j->out[1].len);
	ATF_CHECK_EQ(0, j->ended);
	j->hold = 0;
	rig_ack(r, 1, 0);
	rig_ack(r, 1, 1);
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(3000000, j->out[0].len);
	ATF_CHECK(buf_is(&j->out[1], "begin\ndone\n"));
	ATF_CHECK_EQ(6, j->ex.code);
	rig_end(r);
}

ROOT_TC(held_end, "an end waits until its output fits")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	(void)tc;
	rig_boot(r);
	j->hold = 1;
	/* What the pipe takes beyond the window is there, but not yet told. */
	rig_sh(r, 1, 0, 0, 0, "head -c 300000 /dev/zero; exit 4");
	wait_len(r, 1, 0, GP_WINDOW);
	rig_sync(r);
	ATF_CHECK_EQ(0, j->ended);
	j->hold = 0;
	rig_ack(r, 1, 0);
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(300000, j->ex.out_len);
	ATF_CHECK_EQ(4, j->ex.code);
	rig_end(r);
}

ROOT_TC(input, "8 MiB through cat come back identical")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	uint8_t		*data = noise(8 * MIB + 13);

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, GP_START_INPUT, 0, 0, "cat");
	feed(r, 1, data, 8 * MIB + 13, 0);
	rig_input_end(r, 1, 8 * MIB + 13);
	rig_until(r, &j->ended);
	ATF_REQUIRE_EQ(8 * MIB + 13, j->out[0].len);
	ATF_CHECK(memcmp(data, j->out[0].data, 8 * MIB + 13) == 0);
	ATF_CHECK_EQ(8 * MIB + 13, j->in_acked);
	ATF_CHECK_EQ(0, j->in_flags);
	/* None at all, and none asked for. */
	rig_sh(r, 2, GP_START_INPUT, 0, 0, "cat; echo end");
	rig_input_end(r, 2, 0);
	rig_until(r, &r->jobs[2].ended);
	ATF_CHECK(buf_is(&r->jobs[2].out[0], "end\n"));
	j = rig_run(r, 3, "cat; readlink /proc/self/fd/0");
	ATF_CHECK(buf_is(&j->out[0], "/dev/null\n"));
	free(data);
	rig_end(r);
}

ROOT_TC(input_lost, "a lost connection is no end of input")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	uint8_t		*data = noise(MIB);

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, GP_START_INPUT, 0, 0, "cat");
	feed(r, 1, data, 1000, 0);
	wait_len(r, 1, 0, 1000);
	rig_again(r);
	rig_resume(r, 1);
	rig_until(r, &j->known);
	ATF_CHECK_EQ(GP_ST_RUNNING, j->state.state);
	ATF_CHECK_EQ(1000, j->state.in);
	/* What was received is not taken twice. */
	feed(r, 1, data, 600000, 500);
	rig_again(r);
	rig_resume(r, 1);
	rig_until(r, &j->known);
	ATF_CHECK_EQ(GP_ST_RUNNING, j->state.state);
	feed(r, 1, data, MIB, j->state.in);
	rig_input_end(r, 1, MIB);
	rig_until(r, &j->ended);
	ATF_REQUIRE_EQ(MIB, j->out[0].len);
	ATF_CHECK(memcmp(data, j->out[0].data, MIB) == 0);
	free(data);
	rig_end(r);
}

ROOT_TC(input_closed, "a command that reads no more is told, and harms none")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];
	uint8_t		*data = noise(MIB);
	double		 end = rig_now() + 60;

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, GP_START_INPUT, 0, 0,
	    "head -c 10 >/dev/null; exec <&-; echo closed; sleep 1000");
	feed(r, 1, data, MIB, 0);
	while ((j->in_flags & GP_INPUT_CLOSED) == 0 || j->in_acked < MIB) {
		rig_pump(r, 1000);
		ATF_REQUIRE(rig_now() < end);
	}
	ATF_CHECK_EQ(MIB, j->in_acked);
	rig_input_end(r, 1, MIB);
	rig_cancel(r, 1, 0);
	rig_until(r, &j->ended);
	/* Closed without a byte: told without being asked. */
	rig_sh(r, 2, GP_START_INPUT, 0, 0, "exec <&-; sleep 1000");
	while ((r->jobs[2].in_flags & GP_INPUT_CLOSED) == 0) {
		rig_pump(r, 1000);
		ATF_REQUIRE(rig_now() < end);
	}
	/* One that never reads takes a window, and stops nobody. */
	rig_sh(r, 3, GP_START_INPUT, 0, 0, "sleep 1000");
	while (r->jobs[3].in_acked < 65536) {
		static size_t	 off;

		off += rig_input(r, 3, data + off, MIB - off, off);
		rig_pump(r, 1000);
		ATF_REQUIRE(rig_now() < end);
	}
	ATF_CHECK_EQ(8, rig_run(r, 4, "exit 8")->ex.code);
	free(data);
	rig_end(r);
}

ROOT_TC(background, "what is left behind is counted, its words thrown away")
{
	struct rig	*r = rig_new();
	struct job	*j = &r->jobs[1];

	(void)tc;
	rig_boot(r);
	rig_sh(r, 1, 0, 0, 0, "(while [ ! -e go ]; do sleep 0.02; done;"
	    "head -c 5000000 /dev/zero; echo err >&2; touch gone) & "
	    "echo first; exit 3");
	rig_until(r, &j->ended);
	ATF_CHECK_EQ(3, j->ex.code);
	ATF_CHECK(j->ex.background >= 1);
	ATF_CHECK_EQ(6, j->ex.out_len);
	ATF_CHECK(buf_is(&j->out[0], "first\n"));
	rig_forget(r, 1);
	rig_run(r, 2, "touch go");
	rig_until(r, &j->nbg);
	ATF_CHECK_EQ(0, j->bg.count);
	ATF_CHECK_EQ(5000004, j->bg.discarded);
	ATF_CHECK_EQ(0, rig_run(r, 3, "test -e gone")->ex.code);
	rig_again(r);
	ATF_CHECK_EQ(0, r->nstates);
	rig_end(r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, bytes);
	ATF_TP_ADD_TC(tp, volume);
	ATF_TP_ADD_TC(tp, pressure);
	ATF_TP_ADD_TC(tp, held_end);
	ATF_TP_ADD_TC(tp, input);
	ATF_TP_ADD_TC(tp, input_lost);
	ATF_TP_ADD_TC(tp, input_closed);
	ATF_TP_ADD_TC(tp, background);
	return (atf_no_error());
}
