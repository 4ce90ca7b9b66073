/*
 * Trees: many small files out of a sandbox and into one, beside two of tar(1)
 * on the host, one of which writes what the other reads, and the Engine's
 * archive and exec by docker(1).
 */
#include <sys/stat.h>

#include <err.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define EACH	100	/* files in a directory */
#define BYTES	1024	/* of a file */
#define ROUNDS	3

static void
sh(const char *fmt, ...) __attribute__((__format__(printf, 1, 2)));

static void
sh(const char *fmt, ...)
{
	char	 command[4096];
	char	*argv[] = { "/bin/sh", "-ec", command, NULL };
	va_list	 ap;

	va_start(ap, fmt);
	if (vsnprintf(command, sizeof(command), fmt, ap) >=
	    (int)sizeof(command))
		errx(1, "%s: too long", fmt);
	va_end(ap);
	spawn_wait(argv);
}

static void
host_out(void)
{
	sh("cd '%s/from'; tar -cf - . | tar -xf - -C ../to", bench.scratch);
}

static void
box_out(void)
{
	sh("'%s' -s '%s' get -r %s from '%s/to/from'", bench.ctl,
	    bench.socket, bench.box.id, bench.scratch);
}

static void
engine_out(void)
{
	sh("docker -H 'unix://%s' cp %s:%s/from - | tar -xf - -C '%s/to'",
	    bench.engine, bench.box.container, BOX_DIR, bench.scratch);
}

static void
box_in(void)
{
	sh("'%s' -s '%s' put -r %s '%s/from' to", bench.ctl, bench.socket,
	    bench.box.id, bench.scratch);
}

static void
engine_in(void)
{
	sh("tar -cf - -C '%s/from' . | docker -H 'unix://%s' exec -i "
	    "-u %u:%u -w %s/to %s tar -xf -", bench.scratch, bench.engine,
	    bench.box.user, bench.box.user, BOX_DIR, bench.box.container);
}

/* Each finds an empty directory. */
static void
fresh(void)
{
	sh("rm -rf '%s/to'; mkdir '%s/to'", bench.scratch, bench.scratch);
}

static void
box_fresh(void)
{
	sh("'%s' -s '%s' rm -r %s to; '%s' -s '%s' mkdir %s to", bench.ctl,
	    bench.socket, bench.box.id, bench.ctl, bench.socket,
	    bench.box.id);
}

static void
make(void)
{
	char	 path[1280], text[BYTES];
	int	 i, fd;

	memset(text, 'x', sizeof(text));
	snprintf(path, sizeof(path), "%s/from", bench.scratch);
	if (mkdir(path, 0755) == -1)
		err(1, "%s", path);
	for (i = 0; i < bench.files; i++) {
		snprintf(path, sizeof(path), "%s/from/%d", bench.scratch,
		    i / EACH);
		if (i % EACH == 0 && mkdir(path, 0755) == -1)
			err(1, "%s", path);
		snprintf(path, sizeof(path), "%s/from/%d/%d", bench.scratch,
		    i / EACH, i);
		if ((fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC,
		    0644)) == -1 ||
		    write(fd, text, sizeof(text)) != sizeof(text) ||
		    close(fd) == -1)
			err(1, "%s", path);
	}
	sh("'%s' -s '%s' put -r %s '%s/from' from; '%s' -s '%s' mkdir %s to",
	    bench.ctl, bench.socket, bench.box.id, bench.scratch, bench.ctl,
	    bench.socket, bench.box.id);
}

void
bench_trees(void)
{
	struct samples	 host = { 0 }, out = { 0 }, eout = { 0 };
	struct samples	 in = { 0 }, ein = { 0 };
	int		 i;

	make();
	for (i = 0; i < ROUNDS; i++) {
		fresh();
		timed(&host, host_out);
		fresh();
		timed(&out, box_out);
		fresh();
		timed(&eout, engine_out);
		box_fresh();
		timed(&in, box_in);
		box_fresh();
		timed(&ein, engine_in);
	}
	fresh();
	box_fresh();
	title("a tree of %d files of 1 KiB", bench.files);
	row(ROW_TREE_OUT, at(&out, 0.5) / 1e3, at(&host, 0.5) / 1e3);
	row(ROW_TREE_OUT_ENGINE, at(&eout, 0.5) / 1e3, 0);
	row(ROW_TREE_IN, at(&in, 0.5) / 1e3, at(&host, 0.5) / 1e3);
	row(ROW_TREE_IN_ENGINE, at(&ein, 0.5) / 1e3, 0);
	samples_free(&host);
	samples_free(&out);
	samples_free(&eout);
	samples_free(&in);
	samples_free(&ein);
}
