/*
 * session_conn.c: the connection of a session: lost with a daemon that goes,
 * and made anew with the one that comes.
 */

#include <sys/types.h>

#include <string.h>

#include "session.h"

#define RETRY_FIRST	10	/* ms between tries, doubled up to ... */
#define RETRY_LAST	1000

/* It has just come up: the jobs do not know it yet. */
static int	 fresh;

static void
conn_give_up(void)
{
	const struct sandbox_error	*e = sandbox_error(ss.sb);
	char				 text[TEXT_MAX + 1];

	ss.conn = CONN_LOST;
	strlcpy(text, e->text, sizeof(text));
	ss.status = code_exit(e->code);
	call_fail_all(e->code, text);
}

/* Nothing tells a client when a daemon starts to listen. */
static void
conn_later(void)
{
	int64_t	 now = session_now();

	ss.conn = CONN_DOWN;
	if (sandbox_error(ss.sb)->code != CODE_UNAVAILABLE ||
	    now + ss.pause > ss.until) {
		conn_give_up();
		return;
	}
	ss.retry = now + ss.pause;
	if ((ss.pause *= 2) > RETRY_LAST)
		ss.pause = RETRY_LAST;
}

void
conn_lost(void)
{
	if (ss.conn != CONN_UP)
		return;
	ss.conn = CONN_DOWN;
	ss.until = session_now() + CTL_AGAIN;
	ss.pause = RETRY_FIRST;
	call_lost();
	conn_later();
}

/* What the time, and the daemon's greeting, ask for. */
void
conn_turn(void)
{
	int	 n;

	if (ss.conn == CONN_DOWN && ss.retry <= session_now()) {
		if (sandbox_begin(ss.sb) == -1)
			conn_later();
		else
			ss.conn = CONN_GREETING;
	}
	if (ss.conn == CONN_GREETING) {
		if ((n = sandbox_greeted(ss.sb)) == -1)
			conn_later();
		else if (n == 1) {
			ss.conn = CONN_UP;
			fresh = 1;
		} else if (ss.until <= session_now())
			conn_give_up();
	}
}

/* How long poll(2) may wait for it, -1: for ever. */
int
conn_wait(void)
{
	int64_t	 left;

	/* What is quiet has nothing else that would give it a turn. */
	if (fresh && ss.conn == CONN_UP) {
		fresh = 0;
		return (0);
	}
	if (ss.conn != CONN_DOWN && ss.conn != CONN_GREETING)
		return (-1);
	left = (ss.conn == CONN_DOWN ? ss.retry : ss.until) - session_now();
	return (left < 0 ? 0 : (int)left);
}
