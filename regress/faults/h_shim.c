/*
 * h_shim file init
 * h_shim file role call action arg first every [files]
 * h_shim file role call			how often it was reached, and hit
 * h_shim file role off
 * h_shim file role clock ahead swing
 * h_shim file role pageless		of the time; and says how often it was read
 * h_shim file db minor			the version that Berkeley DB says it has
 *
 * Tells processes that have p_shim.so preloaded what to do.  role and call are
 * words of shim.h, or "all".
 */
#include <sys/mman.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

#define X(name)	#name,
static const char *const roles[] = { SHIM_ROLES NULL };
static const char *const calls[] = { SHIM_CALLS NULL };
#undef X
static const char *const actions[] = { "none", "error", "short", "storm",
    "delay", "nofd", NULL };

static const struct {
	const char	*name;
	int		 error;
} errors[] = {
	{ "EINTR", EINTR }, { "EIO", EIO }, { "ENOMEM", ENOMEM },
	{ "EMFILE", EMFILE }, { "ENFILE", ENFILE }, { "EROFS", EROFS },
	{ "ENOSPC", ENOSPC }, { "EAGAIN", EAGAIN }
};

static struct shim	*sh;

static void
rule_set(int role, int call, const struct shim_rule *r)
{
	struct shim_rule	*to = &sh->rule[role][call];

	/* Nobody acts on half of it. */
	__atomic_store_n(&to->action, ACT_NONE, __ATOMIC_SEQ_CST);
	to->arg = r->arg;
	to->files = r->files;
	to->first = r->first;
	to->every = r->every;
	to->count = to->hits = 0;
	__atomic_store_n(&to->action, r->action, __ATOMIC_SEQ_CST);
}

static int
word(const char *const *words, const char *w)
{
	int	 i;

	if (strcmp(w, "all") == 0)
		return (-1);
	for (i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], w) == 0)
			return (i);
	errx(64, "%s?", w);
}

static void
each(int role, int call, const struct shim_rule *r)
{
	int	 i, j;

	for (i = 0; i < SHIM_NROLES; i++)
		for (j = 0; j < SHIM_NCALLS; j++)
			if ((role == -1 || role == i) &&
			    (call == -1 || call == j))
				rule_set(i, j, r);
}

static int
number(const char *s)
{
	size_t	 i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcmp(errors[i].name, s) == 0)
			return (errors[i].error);
	return (atoi(s));
}

static void
clock_turn(int role, const char *ahead, const char *swing)
{
	int	 i;

	for (i = 0; i < SHIM_NROLES; i++) {
		if (role != -1 && role != i)
			continue;
		sh->clock[i].ahead = strtoll(ahead, NULL, 10);
		sh->clock[i].swing = strtoll(swing, NULL, 10);
	}
}

static void
clock_pageless(int role)
{
	unsigned long long	 asked = 0;
	int			 i;

	for (i = 0; i < SHIM_NROLES; i++) {
		if (role != -1 && role != i)
			continue;
		sh->clock[i].pageless = 1;
		asked += sh->clock[i].asked;
	}
	printf("%llu\n", asked);
}

int
main(int argc, char *argv[])
{
	struct shim_rule	 r;
	int			 fd, role;

	if (argc < 3)
		errx(64, "usage: h_shim file command ...");
	if ((fd = open(argv[1], O_RDWR | O_CREAT, 0600)) == -1 ||
	    (strcmp(argv[2], "init") == 0 && ftruncate(fd, 0) == -1) ||
	    ftruncate(fd, sizeof(*sh)) == -1 ||
	    (sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0)) == MAP_FAILED)
		err(1, "%s", argv[1]);
	close(fd);
	if (strcmp(argv[2], "init") == 0)
		return (0);
	if (argc == 4 && strcmp(argv[2], "db") == 0) {
		sh->db = atoi(argv[3]) + 1;
		return (0);
	}
	role = word(roles, argv[2]);
	memset(&r, 0, sizeof(r));
	if (argc == 4 && strcmp(argv[3], "off") == 0)
		each(role, -1, &r);
	else if (argc == 4 && strcmp(argv[3], "pageless") == 0)
		clock_pageless(role);
	else if (argc == 4) {
		r = sh->rule[role][word(calls, argv[3])];
		printf("%llu %llu\n", (unsigned long long)r.count,
		    (unsigned long long)r.hits);
	} else if (argc == 6 && strcmp(argv[3], "clock") == 0)
		clock_turn(role, argv[4], argv[5]);
	else if (argc >= 8) {
		r.action = word(actions, argv[4]);
		r.arg = number(argv[5]);
		r.first = strtoull(argv[6], NULL, 10);
		r.every = strtoull(argv[7], NULL, 10);
		r.files = argc == 9;
		each(role, word(calls, argv[3]), &r);
	} else
		errx(64, "usage: h_shim file command ...");
	return (0);
}
