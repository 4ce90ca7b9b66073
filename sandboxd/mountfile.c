/*
 * The record of a sandbox's mounts: whose they are and which.  When it starts
 * again its client may be gone, and nobody else's word is good for who that
 * was.  It lies in a directory of root, and only the parent reads it.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"
#include "msg.h"

#define RECORD_MAX	(1024 * 1024)	/* bytes; groups are 65536 at most */
#define RECORD_GROUPS	65536
#define RECORD_NAME	"record"
#define RECORD_NEW	"record.new"

static const struct msg_field f_file[] = {
	MSG_F(mounts_record, uid, M_UINT, 0, 0),
	MSG_F(mounts_record, gid, M_UINT, 0, 0),
	MSG_F(mounts_record, groups, M_U64V, RECORD_GROUPS, 0),
	MSG_F(mounts_record, ro, M_STRV, SBX_MOUNTS_MAX, 0),
	MSG_F(mounts_record, rw, M_STRV, SBX_MOUNTS_MAX, 0),
};

static const struct msg_def file_def =
    MSG_DEF(0, "MOUNTS", mounts_record, f_file);

/* The directory of a number, opened. */
static int
file_dir(int dir, uint64_t n)
{
	char	 name[24];

	snprintf(name, sizeof(name), "%" PRIu64, n);
	return (openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC));
}

static int
write_all(int fd, const char *data, size_t len)
{
	ssize_t	 n;

	for (; len > 0; data += n, len -= (size_t)n)
		if ((n = write(fd, data, len)) == -1) {
			if (errno != EINTR)
				return (-1);
			n = 0;
		}
	return (fsync(fd));
}

static int
file_put(int dir, const char *data, size_t len)
{
	int	 fd, ret;

	if ((fd = openat(dir, RECORD_NEW, O_WRONLY | O_CREAT | O_TRUNC |
	    O_NOFOLLOW | O_CLOEXEC, 0600)) == -1)
		return (-1);
	ret = write_all(fd, data, len);
	close(fd);
	if (ret == -1 || renameat(dir, RECORD_NEW, dir, RECORD_NAME) == -1)
		return (-1);
	return (fsync(dir));
}

int
mountfile_write(int dir, uint64_t n, const struct mounts_record *r)
{
	msgpack_sbuffer	 sb;
	char		 name[24];
	int		 fd, ret, saved;

	snprintf(name, sizeof(name), "%" PRIu64, n);
	if (mkdirat(dir, name, 0700) == -1 && errno != EEXIST)
		return (-1);
	if ((fd = file_dir(dir, n)) == -1)
		return (-1);
	msgpack_sbuffer_init(&sb);
	ret = msg_encode_array(&sb, &file_def, r);
	if (ret == 0)
		ret = file_put(fd, sb.data, sb.size);
	saved = errno;
	msgpack_sbuffer_destroy(&sb);
	close(fd);
	errno = saved;
	return (ret);
}

static int
file_get(int fd, struct mounts_record *r)
{
	uint8_t	*buf;
	size_t	 len = 0;
	ssize_t	 n;
	int	 ret = -1;

	if ((buf = malloc(RECORD_MAX)) == NULL)
		return (-1);
	while ((n = read(fd, buf + len, RECORD_MAX - len)) > 0)
		len += (size_t)n;
	if (n == 0 && (ret = msg_decode_array(r, &file_def, buf,
	    len)) == -1)
		errno = EINVAL;
	free(buf);
	return (ret);
}

int
mountfile_read(int dir, uint64_t n, struct mounts_record *r)
{
	int	 at, fd, ret = -1, saved;

	memset(r, 0, sizeof(*r));
	if ((at = file_dir(dir, n)) == -1)
		return (-1);
	if ((fd = openat(at, RECORD_NAME, O_RDONLY | O_NOFOLLOW |
	    O_CLOEXEC)) != -1) {
		ret = file_get(fd, r);
		saved = errno;
		close(fd);
		errno = saved;
	}
	saved = errno;
	close(at);
	errno = saved;
	return (ret);
}

int
mountfile_remove(int dir, uint64_t n)
{
	char	 name[24];
	int	 fd;

	if ((fd = file_dir(dir, n)) == -1)
		return (errno == ENOENT ? 0 : -1);
	(void)unlinkat(fd, RECORD_NEW, 0);
	(void)unlinkat(fd, RECORD_NAME, 0);
	close(fd);
	snprintf(name, sizeof(name), "%" PRIu64, n);
	return (unlinkat(dir, name, AT_REMOVEDIR));
}

void
mountfile_clear(struct mounts_record *r)
{
	msg_clear(r, &file_def);
}
