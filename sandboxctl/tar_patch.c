/*
 * tar_patch.c: sandboxctl-tar patch: what a guest tells of changed files comes
 * on standard input, and a patch of it goes to standard output, a file at a
 * time.
 */

#include <sys/types.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patch.h"
#include "tar.h"

static uint64_t	 sent, most;
static int	 over;			/* most was too little */
static int	 error;			/* errno of the output */

static int
patch_out(void *arg, const void *data, size_t len)
{
	const char	*p = data;
	ssize_t		 n;

	(void)arg;
	if (most != 0 && len > most - sent) {
		over = 1;
		return (-1);
	}
	sent += len;
	for (; len > 0; p += n, len -= n)
		if ((n = write(STDOUT_FILENO, p, len)) == -1) {
			if (errno != EINTR) {
				error = errno;
				return (-1);
			}
			n = 0;
		}
	return (0);
}

static void
patch_note(void *arg, enum code code, const char *path, const char *why)
{
	(void)arg;
	tar_tell(TAR_NOTE, code, path, why);
}

/* To the end of what comes; -1 if it is not what it has to be. */
static int
patch_read(struct patch *p)
{
	static char	 buf[65536];
	ssize_t		 n;

	for (;;) {
		if ((n = read(STDIN_FILENO, buf, sizeof(buf))) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		if (n == 0)
			return (patch_whole(p) ? 0 : -1);
		if (patch_feed(p, buf, n) == -1)
			return (-1);
	}
}

int
tar_patch(const char *limit)
{
	static struct patch	 p;
	int			 ret;

	most = strtoull(limit, NULL, 10);
	tar_confine(NULL, 0);
	p.out = patch_out;
	p.note = patch_note;
	patch_begin(&p);
	ret = patch_read(&p);
	if (ret == -1 && over)
		tar_fail(CODE_TOO_LARGE, "the patch is larger than it may be");
	else if (ret == -1 && error != 0)
		tar_fail(CODE_IO_ERROR, strerror(error));
	else if (ret == -1 && p.why != NULL)
		tar_fail(CODE_PROTOCOL, p.why);
	else if (ret == -1)
		tar_fail(CODE_PROTOCOL, "it ends in the middle");
	tar_tell(TAR_ENTRIES, p.files, "", "");
	tar_tell(TAR_LEFT, p.notes, "", "");
	tar_tell(TAR_BYTES, sent, "", "");
	patch_end(&p);
	return (ret == 0 ? 0 : 1);
}
