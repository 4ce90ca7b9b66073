/*
 * Files: small ones by the call, a large one in and out, a search.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define SMALL	4096
#define TREE	100	/* files in a directory of the tree that is searched */

static const char	 needle[] = "a needle in this haystack";
static char		 small[SMALL];

/* As the guest does it: beside its place, then by its name. */
static void
host_write(void)
{
	char	 path[1024], tmp[1024];
	int	 fd;

	snprintf(path, sizeof(path), "%s/small", bench.scratch);
	snprintf(tmp, sizeof(tmp), "%s/small.new", bench.scratch);
	if ((fd = open(tmp, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC,
	    0600)) == -1 || write(fd, small, SMALL) != SMALL ||
	    close(fd) == -1 || rename(tmp, path) == -1)
		err(1, "%s", path);
}

static void
host_read(void)
{
	char	 path[1024], buf[SMALL];
	int	 fd;

	snprintf(path, sizeof(path), "%s/small", bench.scratch);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1 ||
	    read(fd, buf, sizeof(buf)) != SMALL)
		err(1, "%s", path);
	close(fd);
}

static void
box_write(void)
{
	if (sandbox_file_write(bench.conn, bench.box.id, "small", small,
	    SMALL, 0, 0) == -1)
		client_lost("write");
}

static void
box_read(void)
{
	char	 buf[SMALL];

	if (sandbox_file_read(bench.conn, bench.box.id, "small", 0, buf,
	    SMALL, NULL) != SMALL || memcmp(buf, small, SMALL) != 0)
		client_lost("read");
}

static void
engine_read(void)
{
	engine_exec("\"cat\",\"small\"");
}

static void
ctl_read(void)
{
	char	*argv[] = { (char *)(uintptr_t)bench.ctl, "-s",
		    (char *)(uintptr_t)bench.socket, "cat", bench.box.id,
		    "small", NULL };
	int	 fd;

	if ((fd = open("/dev/null", O_WRONLY | O_CLOEXEC)) == -1)
		err(1, "/dev/null");
	spawn_to(argv, fd);
	close(fd);
}

static void
bench_small(void)
{
	struct samples	 hw = { 0 }, hr = { 0 }, w = { 0 }, r = { 0 };
	struct samples	 c = { 0 }, e = { 0 };
	int		 i;

	memset(small, 'x', sizeof(small));
	for (i = 0; i < 10; i++) {
		box_write();
		box_read();
	}
	for (i = 0; i < bench.n; i++) {
		timed(&hw, host_write);
		timed(&hr, host_read);
		timed(&w, box_write);
		timed(&r, box_read);
		timed(&c, ctl_read);
		if (i % 10 == 0)
			timed(&e, engine_read);
	}
	title("a file of 4 KiB (%d times)", bench.n);
	row(ROW_FILE_WRITE, at(&w, 0.5), at(&hw, 0.5));
	row(ROW_FILE_WRITE_99, at(&w, 0.99), at(&hw, 0.99));
	row(ROW_FILE_READ, at(&r, 0.5), at(&hr, 0.5));
	row(ROW_FILE_READ_99, at(&r, 0.99), at(&hr, 0.99));
	row(ROW_FILE_CTL, at(&c, 0.5), 0);
	row(ROW_FILE_ENGINE, at(&e, 0.5), 0);
	row(ROW_FILE_TIMES, at(&e, 0.5) / at(&r, 0.5), 0);
	samples_free(&hw);
	samples_free(&hr);
	samples_free(&w);
	samples_free(&r);
	samples_free(&c);
	samples_free(&e);
}

/* A large file, from memory and to nowhere. */
struct large {
	uint64_t	 size;
	uint64_t	 done;
};

static ssize_t
large_in(void *arg, void *buf, size_t len)
{
	struct large	*l = arg;

	if (len > l->size - l->done)
		len = l->size - l->done;
	memset(buf, 'y', len);
	l->done += len;
	return (len);
}

static int
large_out(void *arg, const void *data, size_t len)
{
	struct large	*l = arg;

	(void)data;
	l->done += len;
	return (0);
}

/* MB/s of one call. */
static double
large_call(enum call_op op, uint32_t flags, struct large *l)
{
	struct sandbox_file_io	 io = { NULL, NULL, l };
	struct proto_call	 c;
	struct proto_result	 res;
	double			 start = now();

	memset(&c, 0, sizeof(c));
	c.sandbox = bench.box.id;
	c.op = op;
	c.flags = flags;
	c.path = (char *)(uintptr_t)"large";
	c.length = op == CALL_READ ? CALL_ALL : 0;
	if (op == CALL_READ)
		io.out = large_out;
	else
		io.in = large_in;
	l->done = 0;
	if (sandbox_file_call(bench.conn, &c, &io, &res) == -1)
		client_lost("large file");
	if (l->done != l->size)
		errx(1, "large file: bytes are missing");
	msg_clear(&res, proto_def(PROTO_RESULT));
	return (l->size / (now() - start));
}

static void
best(double *most, double v)
{
	if (v > *most)
		*most = v;
}

static void
bench_large(void)
{
	struct large	 l = { (uint64_t)bench.large << 20, 0 };
	double		 in = 0, out = 0, ein = 0, eout = 0, start;
	int		 i;

	for (i = 0; i < 3; i++) {
		best(&in, large_call(CALL_WRITE,
		    CALL_F_STREAM | CALL_F_ATOMIC, &l));
		best(&out, large_call(CALL_READ, 0, &l));
		start = now();
		engine_put("large-too", l.size);
		best(&ein, l.size / (now() - start));
		start = now();
		engine_get("large", l.size);
		best(&eout, l.size / (now() - start));
	}
	title("a file of %d MiB", bench.large);
	row(ROW_LARGE_IN, in, 0);
	row(ROW_LARGE_IN_ENGINE, ein, 0);
	row(ROW_LARGE_OUT, out, 0);
	row(ROW_LARGE_OUT_ENGINE, eout, 0);
}

/* The same text here and there: one line in each file is looked for. */
static void
tree_make(const char *dir, char *text, size_t len)
{
	char	 path[1280], rel[64];
	int	 i, fd;

	for (i = 0; i < bench.tree; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i / TREE);
		if (i % TREE == 0 && mkdir(path, 0755) == -1)
			err(1, "%s", path);
		snprintf(path, sizeof(path), "%s/%d/%d", dir, i / TREE, i);
		if ((fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC,
		    0644)) == -1 || write(fd, text, len) != (ssize_t)len ||
		    close(fd) == -1)
			err(1, "%s", path);
		snprintf(rel, sizeof(rel), "tree/%d/%d", i / TREE, i);
		if (sandbox_file_write(bench.conn, bench.box.id, rel, text,
		    len, 0, CALL_F_PARENTS) == -1)
			client_lost("tree");
	}
}

static int
one_found(void *arg, void *rec)
{
	(void)rec;
	(*(int *)arg)++;
	return (0);
}

static void
box_grep(void)
{
	struct proto_call	 c;
	struct proto_result	 res;
	int			 found = 0;

	memset(&c, 0, sizeof(c));
	c.sandbox = bench.box.id;
	c.op = CALL_GREP;
	c.path = (char *)(uintptr_t)"tree";
	c.pattern = (char *)(uintptr_t)needle;
	c.limit = 1000000;
	if (sandbox_file_records(bench.conn, &c, &grep_rec_def, one_found,
	    &found, &res) == -1)
		client_lost("grep");
	if (found != bench.tree)
		errx(1, "grep: %d of %d", found, bench.tree);
	msg_clear(&res, proto_def(PROTO_RESULT));
}

static char	 tree[1024];

/* Into /dev/null it would not look for more than the first of each file. */
static void
host_grep(void)
{
	char	*argv[] = { "/bin/grep", "-rnF", (char *)(uintptr_t)needle,
		    tree, NULL };
	char	 path[1024];
	int	 fd;

	snprintf(path, sizeof(path), "%s/found", bench.scratch);
	if ((fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC,
	    0600)) == -1)
		err(1, "%s", path);
	spawn_to(argv, fd);
	close(fd);
}

static void
engine_grep(void)
{
	engine_exec("\"sh\",\"-c\",\"grep -rnF 'a needle in this haystack' "
	    "tree >/tmp/found\"");
}

static void
bench_search(void)
{
	struct samples	 ours = { 0 }, host = { 0 }, theirs = { 0 };
	static char	 text[100 * 1024];
	size_t		 i;

	for (i = 0; i < sizeof(text); i++)
		text[i] = i % 64 == 63 ? '\n' : 'a' + i * 7 % 26;
	memcpy(text + sizeof(text) - 64, needle, sizeof(needle) - 1);
	snprintf(tree, sizeof(tree), "%s/tree", bench.scratch);
	if (mkdir(tree, 0755) == -1)
		err(1, "%s", tree);
	tree_make(tree, text, sizeof(text));
	for (i = 0; i < 5; i++) {
		timed(&host, host_grep);
		timed(&ours, box_grep);
		timed(&theirs, engine_grep);
	}
	title("a string in %d files of 100 KiB", bench.tree);
	row(ROW_GREP, at(&ours, 0.5) / 1e3, at(&host, 0.5) / 1e3);
	row(ROW_GREP_ENGINE, at(&theirs, 0.5) / 1e3, 0);
	samples_free(&ours);
	samples_free(&host);
	samples_free(&theirs);
}

void
bench_files(void)
{
	bench_small();
	bench_large();
	bench_search();
}
