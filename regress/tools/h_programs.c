/*
 * Who is told of programs and has heard enough.
 *
 *	h_programs socket id n
 *
 * prints how many were told until then, n of them at most, and the code.
 */

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "libsandbox.h"

struct heard {
	int	 n;
	int	 most;
};

static int
hear(void *arg, const char *name, const char *path)
{
	struct heard	*h = arg;

	return (++h->n == h->most ? -1 : 0);
}

int
main(int argc, char *argv[])
{
	struct heard	 h = { 0, 0 };
	struct sandbox_error e;
	struct sandbox	*sb;

	if (argc != 4)
		errx(64, "usage: h_programs socket id n");
	h.most = atoi(argv[3]);
	if ((sb = sandbox_open(argv[1], "h_programs", &e)) == NULL)
		errx(1, "%s: %s", argv[1], e.text);
	if (sandbox_tool_programs(sb, argv[2], hear, &h) == -1)
		printf("%d %s\n", h.n, code_name(sandbox_error(sb)->code));
	else
		printf("%d all\n", h.n);
	sandbox_close(sb);
	return (0);
}
