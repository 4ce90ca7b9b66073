/*
 * Sandboxes: made and removed, against the Engine's own containers.
 */
#include <sys/wait.h>

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define MANY	4	/* at the most */

static void
create_alone(const char *json, int n)
{
	struct samples		 ours = { 0 }, gone = { 0 };
	struct samples		 theirs = { 0 }, theirs_gone = { 0 };
	struct proto_sandbox	 b;
	char			 id[128];
	double			 start;
	int			 i;

	for (i = 0; i < n; i++) {
		start = now();
		boxes_create(&b, 1);
		sample(&ours, now() - start);
		start = now();
		box_delete(&b);
		sample(&gone, now() - start);
		start = now();
		engine_create(json, id, sizeof(id));
		sample(&theirs, now() - start);
		start = now();
		engine_remove(id);
		sample(&theirs_gone, now() - start);
	}
	row(ROW_CREATE, at(&ours, 0.5) / 1e3, at(&theirs, 0.5) / 1e3);
	row(ROW_REMOVE, at(&gone, 0.5) / 1e3, at(&theirs_gone, 0.5) / 1e3);
	samples_free(&ours);
	samples_free(&gone);
	samples_free(&theirs);
	samples_free(&theirs_gone);
}

/* In a process for each: json makes one, NULL removes those of the ids. */
static void
engine_at_once(const char *json, char (*ids)[128])
{
	pid_t	 pid;
	int	 i, fd[2], status;

	if (pipe(fd) == -1)
		err(1, "pipe");
	for (i = 0; i < bench.at_once; i++) {
		if ((pid = fork()) == -1)
			err(1, "fork");
		if (pid != 0)
			continue;
		if (json == NULL)
			engine_remove(ids[i]);
		else {
			memset(ids[i], 0, sizeof(ids[i]));
			engine_create(json, ids[i], sizeof(ids[i]));
			if (write(fd[1], ids[i], sizeof(ids[i])) !=
			    sizeof(ids[i]))
				_exit(1);
		}
		_exit(0);
	}
	for (i = 0; i < bench.at_once; i++)
		if (wait(&status) == -1 || status != 0)
			errx(1, "the Engine failed");
	for (i = 0; json != NULL && i < bench.at_once; i++)
		if (read(fd[0], ids[i], sizeof(ids[i])) != sizeof(ids[i]))
			errx(1, "no id");
	close(fd[0]);
	close(fd[1]);
}

static void
create_many(const char *json, int rounds)
{
	struct proto_sandbox	 b[MANY];
	char			 ids[MANY][128];
	double			 t[4] = { 0 }, start;
	int			 i;

	for (i = 0; i < rounds; i++) {
		start = now();
		boxes_create(b, bench.at_once);
		t[0] += now() - start;
		start = now();
		boxes_delete(b, bench.at_once);
		t[1] += now() - start;
		start = now();
		engine_at_once(json, ids);
		t[2] += now() - start;
		start = now();
		engine_at_once(NULL, ids);
		t[3] += now() - start;
	}
	for (i = 0; i < 4; i++)
		t[i] /= rounds * bench.at_once * 1e3;
	row(ROW_CREATE_MANY, t[0], t[2]);
	row(ROW_REMOVE_MANY, t[1], t[3]);
}

void
bench_create(void)
{
	struct samples	 s = { 0 };
	char		*json = engine_create_body();
	int		 i;

	title("create and remove, against the Engine's own");
	create_alone(json, bench.creates);
	create_many(json, (bench.creates + 2) / 3);
	free(json);
	for (i = 0; i < bench.creates; i++)
		sample(&s, box_accepted());
	row(ROW_ACCEPTED, at(&s, 0.5) / 1e3, 0);
	samples_free(&s);
}
