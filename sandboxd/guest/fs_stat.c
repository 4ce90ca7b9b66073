/* What a file is: one record, and the record of each entry of a list. */

#include <sys/stat.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "call.h"

static int64_t
ns(const struct timespec *ts)
{
	return ((int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec);
}

/* st of zeroes, and a code, for what could not be looked at. */
int
fs_record(struct job *j, const char *name, const struct stat *st,
    const char *target, enum code code)
{
	rec_begin(j, 14);
	rec_str(j, name);
	rec_uint(j, st->st_mode);
	rec_uint(j, st->st_uid);
	rec_uint(j, st->st_gid);
	rec_uint(j, st->st_nlink);
	rec_uint(j, st->st_size < 0 ? 0 : st->st_size);
	rec_uint(j, (uint64_t)st->st_blocks * 512);
	rec_int(j, ns(&st->st_mtim));
	rec_int(j, ns(&st->st_ctim));
	rec_uint(j, st->st_dev);
	rec_uint(j, st->st_ino);
	rec_uint(j, st->st_rdev);
	rec_str(j, target);
	rec_uint(j, code);
	return (rec_end(j));
}

void
fs_stat(struct job *j)
{
	struct stat	 st;
	char		 target[CALL_PATH_MAX + 1];
	ssize_t		 n;
	int		 ret;

	if (j->m.flags & CALL_F_NOFOLLOW)
		ret = lstat(j->m.path, &st);
	else
		ret = stat(j->m.path, &st);
	if (ret == -1) {
		job_errno(j, errno, "");
		return;
	}
	target[0] = '\0';
	if (S_ISLNK(st.st_mode) && (n = readlink(j->m.path, target,
	    sizeof(target) - 1)) != -1)
		target[n] = '\0';
	fs_record(j, j->m.path, &st, target, CODE_OK);
}
