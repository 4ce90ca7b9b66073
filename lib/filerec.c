/* Reads records that a guest has made: see filerec.h. */

#include <sys/types.h>

#include <string.h>

#include "calls.h"
#include "codes.h"
#include "filerec.h"

static const struct msg_field f_file_rec[] = {
	MSG_F(file_rec, name, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(file_rec, mode, M_UINT, 0177777, 0),
	MSG_F(file_rec, uid, M_UINT, 0, 0),
	MSG_F(file_rec, gid, M_UINT, 0, 0),
	MSG_F(file_rec, nlink, M_UINT, 0, 0),
	MSG_F(file_rec, size, M_UINT, 0, 0),
	MSG_F(file_rec, used, M_UINT, 0, 0),
	MSG_F(file_rec, mtime, M_INT, 0, 0),
	MSG_F(file_rec, ctime, M_INT, 0, 0),
	MSG_F(file_rec, dev, M_UINT, 0, 0),
	MSG_F(file_rec, ino, M_UINT, 0, 0),
	MSG_F(file_rec, rdev, M_UINT, 0, 0),
	MSG_F(file_rec, target, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(file_rec, code, M_UINT, CODE_MAX - 1, 0),
};

const struct msg_def	 file_rec_def = MSG_DEF(0, "file_rec", file_rec,
			    f_file_rec);

static const struct msg_field f_grep_rec[] = {
	MSG_F(grep_rec, name, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(grep_rec, line, M_UINT, 0, 0),
	MSG_F(grep_rec, flags, M_UINT, GREP_R_CONTEXT | GREP_R_CUT, 0),
	MSG_F(grep_rec, count, M_UINT, 0, 0),
	MSG_F(grep_rec, text, M_BLOB, GREP_TEXT_MAX, 0),
};

const struct msg_def	 grep_rec_def = MSG_DEF(0, "grep_rec", grep_rec,
			    f_grep_rec);

static const struct msg_field f_watch_rec[] = {
	MSG_F(watch_rec, kind, M_STR, 0, 0),
	MSG_F(watch_rec, name, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(watch_rec, from, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(watch_rec, dir, M_UINT, 1, 0),
	MSG_F(watch_rec, code, M_UINT, CODE_MAX - 1, 0),
	MSG_F(watch_rec, time, M_INT, 0, 0),
};

const struct msg_def	 watch_rec_def = MSG_DEF(0, "watch_rec", watch_rec,
			    f_watch_rec);

static const struct msg_field f_diff_rec[] = {
	MSG_F(diff_rec, kind, M_STR, 0, 0),
	MSG_F(diff_rec, what, M_TEXT, WATCH_KIND_MAX, 0),
	MSG_F(diff_rec, name, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(diff_rec, mode, M_UINT, 0177777, 0),
	MSG_F(diff_rec, size, M_UINT, 0, 0),
	MSG_F(diff_rec, mtime, M_INT, 0, 0),
	MSG_F(diff_rec, old_mode, M_UINT, 0177777, 0),
	MSG_F(diff_rec, old_size, M_UINT, 0, 0),
	MSG_F(diff_rec, old_mtime, M_INT, 0, 0),
};

const struct msg_def	 diff_rec_def = MSG_DEF(0, "diff_rec", diff_rec,
			    f_diff_rec);

static const struct msg_field f_change_rec[] = {
	MSG_F(change_rec, kind, M_STR, 0, 0),
	MSG_F(change_rec, name, M_TEXT, CALL_PATH_MAX, 0),
	MSG_F(change_rec, mode, M_UINT, 0177777, 0),
	MSG_F(change_rec, old_mode, M_UINT, 0177777, 0),
	MSG_F(change_rec, code, M_UINT, CODE_MAX - 1, 0),
	MSG_F(change_rec, why, M_TEXT, CALL_TEXT_MAX, 0),
	MSG_F(change_rec, data, M_BLOB, CHANGE_DATA_MAX, 0),
};

const struct msg_def	 change_rec_def = MSG_DEF(0, "change_rec", change_rec,
			    f_change_rec);

/* Room for any record, aligned for each of its members. */
union rec_any {
	uint64_t	 align;
	struct file_rec	 file;
	struct grep_rec	 grep;
	struct watch_rec watch;
	struct diff_rec	 diff;
	struct change_rec change;
};

static int
rec_bad(struct rec_reader *r, const char *why)
{
	r->why = why;
	return (-1);
}

static size_t
rec_length(const struct rec_reader *r)
{
	return (r->buf[0] | (size_t)r->buf[1] << 8 | (size_t)r->buf[2] << 16 |
	    (size_t)r->buf[3] << 24);
}

static int
rec_one(struct rec_reader *r)
{
	union rec_any	 any;
	int		 ret;

	if (r->def->size > sizeof(any))
		return (rec_bad(r, "no room for a record"));
	if (msg_decode_array(&any, r->def, r->buf + 4, rec_length(r)) == -1)
		return (rec_bad(r, "a record is not well formed"));
	ret = r->take(r->arg, &any);
	msg_clear(&any, r->def);
	return (ret);
}

int
rec_feed(struct rec_reader *r, const void *data, size_t len)
{
	const uint8_t	*p = data;
	size_t		 n, want;

	while (len > 0) {
		want = 4;
		if (r->len >= 4)
			want += rec_length(r);
		n = want - r->len < len ? want - r->len : len;
		memcpy(r->buf + r->len, p, n);
		r->len += n;
		p += n;
		len -= n;
		if (r->len < 4)
			continue;
		if (rec_length(r) == 0 || rec_length(r) > REC_MAX)
			return (rec_bad(r, "a record is too long"));
		if (r->len < 4 + rec_length(r))
			continue;
		if (rec_one(r) == -1)
			return (-1);
		r->len = 0;
	}
	return (0);
}

int
rec_done(const struct rec_reader *r)
{
	return (r->len == 0);
}
