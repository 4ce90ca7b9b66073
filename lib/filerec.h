/*
 * Records in the output of a call: what the guest tells of files.  Each is
 * four bytes of length, little endian, and so many bytes of msgpack: an array
 * in the order of its table.  The guest is not to be trusted: a record that
 * is not as its table says is an error of the protocol for who reads it.
 */
#ifndef FILEREC_H
#define FILEREC_H

#include "msg.h"

#define REC_MAX		32768	/* bytes of one record */

/* STAT, and each entry of LIST and WALK. */
struct file_rec {
	char		*name;	/* as asked for, of an entry below that */
	uint32_t	 mode;	/* type and permissions, as in st_mode */
	uint32_t	 uid;
	uint32_t	 gid;
	uint64_t	 nlink;
	uint64_t	 size;
	uint64_t	 used;	/* bytes on the disk */
	int64_t		 mtime;	/* ns since 1970 */
	int64_t		 ctime;
	uint64_t	 dev;
	uint64_t	 ino;
	uint64_t	 rdev;
	char		*target; /* of a symbolic link */
	uint32_t	 code;	/* enum code: why it could not be looked at */
};

/* Each line of GREP. */
struct grep_rec {
	char		*name;	/* below what was searched, or its own */
	uint64_t	 line;	/* from 1; 0 where files are told */
	uint32_t	 flags;	/* GREP_R_* */
	uint64_t	 count;	/* of lines, where files are told */
	struct blob	 text;
};

/* What WATCH tells. */
#define WATCH_KIND_MAX	15

struct watch_rec {
	char		 kind[WATCH_KIND_MAX + 1]; /* a word */
	char		*name;	/* below what is watched; "" if that is it */
	char		*from;	/* of one that was renamed */
	uint32_t	 dir;	/* it is a directory */
	uint32_t	 code;	/* enum code: why it cannot be watched */
	int64_t		 time;	/* ns since 1970 */
};

/* What DIFF tells: a thing as it is, and as it was. */
struct diff_rec {
	char		 kind[WATCH_KIND_MAX + 1]; /* a word */
	char		*what;	/* has changed of it: a word, or "" */
	char		*name;
	uint32_t	 mode;	/* 0: there is none */
	uint64_t	 size;
	int64_t		 mtime;	/* ns since 1970 */
	uint32_t	 old_mode;
	uint64_t	 old_size;
	int64_t		 old_mtime;
};

/*
 * What CHANGES tells of one file: how it begins, the bytes that it had, those
 * that it has, and its end; or that it cannot be told, which is all then.
 */
struct change_rec {
	char		 kind[WATCH_KIND_MAX + 1]; /* a word */
	char		*name;	/* where it begins */
	uint32_t	 mode;	/* as in st_mode; 0: there is none */
	uint32_t	 old_mode;
	uint32_t	 code;	/* enum code: why it cannot be told */
	char		*why;
	struct blob	 data;
};

extern const struct msg_def	change_rec_def;
extern const struct msg_def	diff_rec_def;
extern const struct msg_def	file_rec_def;
extern const struct msg_def	watch_rec_def;
extern const struct msg_def	grep_rec_def;

/*
 * A stream of records, cut anywhere.  rec_feed() hands on each that is whole:
 * -1 if one is wrong, or the callback says so.  What it holds is bounded.
 */
struct rec_reader {
	const struct msg_def	*def;
	/* Gets a structure of the table, to be kept by zeroing it. */
	int			(*take)(void *arg, void *rec);
	void			*arg;
	uint8_t			 buf[4 + REC_MAX];
	size_t			 len;
	const char		*why;	/* it was wrong */
};

int	 rec_feed(struct rec_reader *, const void *, size_t);
int	 rec_done(const struct rec_reader *);	/* nothing is left over */

#endif
