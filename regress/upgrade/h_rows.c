/*
 * The rows of a database as lines of text, and back, so that one that an
 * earlier program has written can lie in the tree.
 *
 *	h_rows dump db		write "table key value" in hexadecimal
 *	h_rows load db		make a database of such lines; # begins a remark
 *	h_rows grow db		put a field behind those of each row
 *	h_rows grown db		print the keys of the rows that have it
 *	h_rows state db n v	give the first sandbox's row that state
 *	h_rows version db v	make it one of that version
 */
#include <sys/types.h>

#include <ctype.h>
#include <err.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eventdb.h"
#include "eventlog.h"
#include "msg.h"
#include "record.h"

#define FIELD		"of a newer program"
#define ROW_MAX		65536

static struct eventdb	 db;

static const char *const tables[EDB_NTABLES] = { "events", "index", "state" };

struct row {
	uint8_t		 key[64];
	size_t		 nkey;
	uint8_t		*val;
	size_t		 nval;
	struct row	*next;
};

static void
check(int ret)
{
	if (ret != EDB_OK)
		errx(1, "%s", db.why);
}

static void
hex(const uint8_t *p, size_t len)
{
	size_t	 i;

	putchar(' ');
	for (i = 0; i < len; i++)
		printf("%02x", p[i]);
}

static int
dump_one(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	fputs(arg, stdout);
	hex(key, nkey);
	hex(val, nval);
	putchar('\n');
	return (0);
}

static void
dump(void)
{
	int	 i;

	for (i = 0; i < EDB_NTABLES; i++)
		check(eventdb_walk(&db, i, "", 0, dump_one,
		    (void *)(uintptr_t)tables[i]));
}

static size_t
unhex(const char *s, uint8_t *buf, size_t size)
{
	size_t		 n = 0;
	unsigned int	 c;

	for (; s[0] != '\0' && s[1] != '\0'; s += 2) {
		if (n == size || sscanf(s, "%2x", &c) != 1)
			errx(1, "bad line");
		buf[n++] = c;
	}
	return (n);
}

static void
load(void)
{
	static char	 line[4 * ROW_MAX], table[16], k[256], v[2 * ROW_MAX];
	static uint8_t	 key[64], val[ROW_MAX];
	struct eventlog	 lg;
	size_t		 nkey, nval;
	int		 i;

	check(eventdb_begin(&db));
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (line[0] == '#')
			continue;
		if (sscanf(line, "%15s %255s %131071s", table, k, v) != 3)
			errx(1, "bad line: %.40s", line);
		for (i = 0; i < EDB_NTABLES; i++)
			if (strcmp(tables[i], table) == 0)
				break;
		if (i == EDB_NTABLES)
			errx(1, "bad table: %s", table);
		nkey = unhex(k, key, sizeof(key));
		nval = unhex(v, val, sizeof(val));
		check(eventdb_put(&db, i, key, nkey, val, nval));
	}
	check(eventdb_commit(&db));
	/* Writes the watermark. */
	check(eventlog_open(&lg, &db));
}

/* The rows that are arrays, by the letters of their keys. */
static int
collect(void *arg, const uint8_t *key, size_t nkey, const uint8_t *val,
    size_t nval)
{
	struct row	**first = arg, *r;

	if (nkey < 9 || strchr("SCEFP", key[0]) == NULL)
		return (0);
	if (nkey > sizeof(r->key) || (r = calloc(1, sizeof(*r))) == NULL ||
	    (r->val = malloc(nval + 3 + sizeof(FIELD))) == NULL)
		errx(1, "row");
	memcpy(r->key, key, nkey);
	r->nkey = nkey;
	memcpy(r->val, val, nval);
	r->nval = nval;
	r->next = *first;
	*first = r;
	return (0);
}

static struct row *
rows(void)
{
	struct row	*first = NULL;

	check(eventdb_walk(&db, EDB_STATE, "", 0, collect, &first));
	return (first);
}

/* A string of up to 31 bytes is 0xa0 and its length, and the bytes. */
static void
grow_one(struct row *r)
{
	size_t	 len = strlen(FIELD);

	if (r->val[0] == 0xdc) {
		if (++r->val[2] == 0)
			errx(1, "too many fields");
	} else if (r->val[0] == 0x9f) {
		memmove(r->val + 3, r->val + 1, r->nval - 1);
		memcpy(r->val, "\xdc\0\x10", 3);
		r->nval += 2;
	} else if ((r->val[0] & 0xf0) == 0x90)
		r->val[0]++;
	else
		errx(1, "row %c is no array", r->key[0]);
	r->val[r->nval++] = 0xa0 | len;
	memcpy(r->val + r->nval, FIELD, len);
	r->nval += len;
}

static void
grow(void)
{
	struct row	*r;

	check(eventdb_begin(&db));
	for (r = rows(); r != NULL; r = r->next) {
		grow_one(r);
		check(eventdb_put(&db, EDB_STATE, r->key, r->nkey, r->val,
		    r->nval));
	}
	check(eventdb_commit(&db));
}

static void
grown(void)
{
	struct row	*r;
	size_t		 len = strlen(FIELD), i;

	for (r = rows(); r != NULL; r = r->next) {
		if (r->nval < len ||
		    memcmp(r->val + r->nval - len, FIELD, len) != 0)
			continue;
		putchar(r->key[0]);
		for (i = 1; i + 8 <= r->nkey; i += 8)
			printf(" %llu", (unsigned long long)
			    record_get64(r->key + i));
		putchar('\n');
	}
}

/* Where the value begins that stands behind so many others. */
static size_t
skip(const struct row *r, int n)
{
	msgpack_unpacked	 up;
	size_t			 off = r->val[0] == 0xdc ? 3 : 1;

	msgpack_unpacked_init(&up);
	while (n-- > 0)
		if (msgpack_unpack_next(&up, (char *)r->val, r->nval,
		    &off) != MSGPACK_UNPACK_SUCCESS)
			errx(1, "row");
	msgpack_unpacked_destroy(&up);
	return (off);
}

static void
state(int field, int value)
{
	struct row	*r;

	check(eventdb_begin(&db));
	for (r = rows(); r != NULL; r = r->next)
		if (r->key[0] == 'S') {
			r->val[skip(r, field)] = value;
			check(eventdb_put(&db, EDB_STATE, r->key, r->nkey,
			    r->val, r->nval));
		}
	check(eventdb_commit(&db));
}

/* The watermark's first 56 bytes and the beginning of their hash. */
static void
version(const char *dir, int v)
{
	uint8_t		 buf[64], sum[32];
	char		 path[4096];
	SHA2_CTX	 ctx;
	int		 fd;

	snprintf(path, sizeof(path), "%s/watermark", dir);
	if ((fd = open(path, O_RDWR)) == -1 ||
	    read(fd, buf, sizeof(buf)) != sizeof(buf))
		err(1, "%s", path);
	buf[7] = v;
	SHA256Init(&ctx);
	SHA256Update(&ctx, buf, 56);
	SHA256Final(sum, &ctx);
	memcpy(buf + 56, sum, 8);
	if (pwrite(fd, buf, sizeof(buf), 0) != sizeof(buf))
		err(1, "%s", path);
	close(fd);
}

int
main(int argc, char *argv[])
{
	const char	*what = argc > 2 ? argv[1] : "";

	if (strcmp(what, "version") == 0 && argc == 4) {
		version(argv[2], atoi(argv[3]));
		return (0);
	}
	umask(077);
	if (argc < 3 || eventdb_open(&db, argv[2]) == -1)
		errx(1, "%s", db.why);
	if (strcmp(what, "dump") == 0)
		dump();
	else if (strcmp(what, "load") == 0)
		load();
	else if (strcmp(what, "grow") == 0)
		grow();
	else if (strcmp(what, "grown") == 0)
		grown();
	else if (strcmp(what, "state") == 0 && argc == 5)
		state(atoi(argv[3]), atoi(argv[4]));
	else
		errx(1, "bad arguments");
	eventdb_close(&db);
	return (0);
}
