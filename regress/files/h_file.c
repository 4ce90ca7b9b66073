/*
 * Calls from the command line, by libsandbox alone.
 *
 *	h_file [-f flags] [-l limit] [-m mode] [-n length] [-o offset] [-s]
 *	    socket id op path [path2]
 *
 * Output goes to standard output as it is, of records a line for each; input
 * comes from standard input, with -s by a pipe.  An error is one line on
 * standard error that begins with its code.
 */

#include <sys/types.h>

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libsandbox.h"

static int
out(void *arg, const void *data, size_t len)
{
	return (fwrite(data, 1, len, stdout) == len ? 0 : -1);
}

static ssize_t
in(void *arg, void *buf, size_t size)
{
	return (read(STDIN_FILENO, buf, size));
}

static int
record(void *arg, void *rec)
{
	const struct file_rec	*r = rec;

	printf("%o %u %" PRIu64 " %s %s %s\n", r->mode, r->uid, r->size,
	    r->name, r->target, code_name(r->code));
	return (0);
}

static void
data_read(struct blob *b)
{
	static uint8_t	 buf[CALL_DATA_MAX + 1];
	ssize_t		 n;

	while ((n = read(STDIN_FILENO, buf + b->len, sizeof(buf) -
	    b->len)) > 0)
		b->len += n;
	if (n == -1)
		err(1, "read");
	b->data = buf;
}

int
main(int argc, char *argv[])
{
	struct sandbox_file_io	 io;
	struct sandbox_error	 e;
	struct proto_result	 res;
	struct proto_call	 c;
	struct sandbox		*sb;
	int			 ch, kind, ret, stream = 0;

	memset(&c, 0, sizeof(c));
	memset(&io, 0, sizeof(io));
	c.length = CALL_ALL;
	while ((ch = getopt(argc, argv, "f:l:m:n:o:s")) != -1)
		switch (ch) {
		case 'f':
			c.flags = strtoul(optarg, NULL, 0);
			break;
		case 'l':
			c.limit = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			c.mode = strtoul(optarg, NULL, 8);
			break;
		case 'n':
			c.length = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			c.offset = strtoull(optarg, NULL, 0);
			break;
		case 's':
			stream = 1;
			break;
		default:
			errx(1, "usage");
		}
	argc -= optind;
	argv += optind;
	if (argc < 4)
		errx(1, "usage");
	if ((sb = sandbox_open(argv[0], "h_file", &e)) == NULL)
		errx(1, "%s: %s", code_name(e.code), e.text);
	c.sandbox = argv[1];
	c.op = call_number(argv[2]);
	c.path = argv[3];
	c.path2 = argv[4];
	kind = call_kind(c.op);
	io.out = out;
	if (kind & CALL_IN && stream)
		io.in = in;
	else if (kind & CALL_IN)
		data_read(&c.data);
	if (kind & CALL_REC)
		ret = sandbox_file_records(sb, &c, &file_rec_def, record,
		    NULL, &res);
	else
		ret = sandbox_file_call(sb, &c, &io, &res);
	if (ret == -1)
		errx(1, "%s: %s", code_name(sandbox_error(sb)->code),
		    sandbox_error(sb)->text);
	if (fflush(stdout) != 0)
		err(1, "stdout");
	if (!(kind & CALL_OUT))
		printf("%" PRIu64 " %" PRIu64 "\n", res.count, res.count2);
	sandbox_close(sb);
	return (0);
}
