/*
 * Gives the log of a daemon that does not run a past: sandboxes that were
 * made, ran commands and were deleted.
 *
 * usage: h_fill directory sandboxes execs
 *
 * regress-srcs: history.c
 */
#include <err.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "history.h"
#include "sandboxd.h"

static void
as_store(void)
{
	const struct passwd	*pw;

	if ((pw = getpwnam(STORE_USER)) == NULL)
		errx(1, "no user %s", STORE_USER);
	if (setgroups(0, NULL) == -1 || setgid(pw->pw_gid) == -1 ||
	    setuid(pw->pw_uid) == -1)
		err(1, "%s", STORE_USER);
}

int
main(int argc, char *argv[])
{
	const char	*errstr[2];
	int		 i, boxes, execs;

	if (argc != 4)
		errx(64, "usage: h_fill directory sandboxes execs");
	boxes = strtonum(argv[2], 1, 1000000, &errstr[0]);
	execs = strtonum(argv[3], 0, 10000, &errstr[1]);
	if (errstr[0] != NULL || errstr[1] != NULL)
		errx(64, "not a number of these");
	as_store();
	history_open(argv[1]);
	for (i = 0; i < boxes; i++)
		history_box(execs, 0);
	history_write();
	history_close();
	return (0);
}
