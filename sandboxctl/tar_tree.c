/*
 * tar_tree.c: trees on our side: by libarchive, and by the code that the
 * guest has too for what is left out, refused and made.  What comes from a
 * sandbox is read here and nowhere else.
 */

#include <sys/stat.h>
#include <sys/syscall.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "pack.h"
#include "tar.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE	1
#define RENAME_EXCHANGE		2
#endif
#define BUF		(256 * 1024)
#define BLOCK		(64 * 1024)
#define IGNORE_BYTES	65536
#define NOTE_NAME	"sandboxd.note"

/* What nobody wants in a sandbox, unless it is asked for. */
static const char	 secrets[] =
	".env\n.env.local\n.env.*.local\n.env.development\n"
	".env.production\n.env.staging\n.env.test\n.envrc\n"
	"id_rsa\nid_dsa\nid_ecdsa\nid_ecdsa_sk\nid_ed25519\nid_ed25519_sk\n"
	"*.pem\n*.key\n*.p12\n*.pfx\n*.jks\n*.keystore\n*.kdbx\n*.ppk\n"
	".netrc\n_netrc\n.git-credentials\n.npmrc\n.pypirc\n.pgpass\n"
	".my.cnf\n.htpasswd\n.vault-token\n.dockercfg\n"
	"credentials\ncredentials.json\ncredentials.toml\n"
	".ssh/\n.gnupg/\n.aws/\n.azure/\n.gcloud/\n.kube/\n.docker/\n"
	"service-account*.json\n*.tfstate\n*.tfstate.*\n";

static char	 buf[BUF];

void
tar_tell(int what, unsigned long long n, const char *path, const char *why)
{
	char	 line[PACK_PATH + 512];
	int	 len;

	len = snprintf(line, sizeof(line), "%c%llu%c%s%c%.255s%c", what, n,
	    0, path, 0, why, 0);
	/* Half of one says nothing. */
	if (len > 0 && len < (int)sizeof(line) &&
	    write(TAR_NOTES_FD, line, len) != len)
		_exit(1);
}

int
tar_fail(enum code code, const char *why)
{
	tar_tell(TAR_ERROR, code, "", why);
	return (1);
}

static int
note_pack(void *arg, const char *path, enum code code, const char *why)
{
	(void)arg;
	tar_tell(TAR_NOTE, code, path, why);
	return (0);
}

static void
counts(uint64_t entries, uint64_t left, uint64_t bytes)
{
	tar_tell(TAR_ENTRIES, entries, "", "");
	tar_tell(TAR_LEFT, left, "", "");
	tar_tell(TAR_BYTES, bytes, "", "");
}

/* A tree of ours. */
struct packing {
	struct archive		*a;
	struct archive_entry	*e;
	int			 failed;
};

static int
pack_head(void *arg, const struct pack_entry *e)
{
	struct packing	*p = arg;

	archive_entry_clear(p->e);
	archive_entry_copy_pathname(p->e, e->path);
	archive_entry_set_filetype(p->e, e->type == PACK_DIR ? AE_IFDIR :
	    e->type == PACK_LINK ? AE_IFLNK : AE_IFREG);
	archive_entry_set_perm(p->e, e->mode & 0777);
	/* Libarchive writes the fraction behind the whole seconds as it is. */
	if (e->sec < 0 && e->nsec > 0)
		archive_entry_set_mtime(p->e, e->sec + 1, e->sec == -1 ? 0 :
		    1000000000 - e->nsec);
	else
		archive_entry_set_mtime(p->e, e->sec, e->nsec);
	if (e->type == PACK_LINK)
		archive_entry_copy_symlink(p->e, e->link);
	if (e->type == PACK_HARD)
		archive_entry_copy_hardlink(p->e, e->link);
	archive_entry_set_size(p->e, e->type == PACK_FILE ?
	    (int64_t)e->size : 0);
	if (archive_write_header(p->a, p->e) < ARCHIVE_WARN)
		p->failed = 1;
	return (p->failed ? -1 : 0);
}

static int
pack_body(void *arg, int fd, const struct pack_entry *e)
{
	struct packing	*p = arg;
	uint64_t	 left = e->size;
	size_t		 n;
	ssize_t		 r;
	int		 fewer = 0;

	for (; left > 0; left -= r) {
		n = left < sizeof(buf) ? left : sizeof(buf);
		if (fewer || (r = read(fd, buf, n)) <= 0) {
			memset(buf, 0, n);
			r = n;
			fewer = 1;
		}
		if (archive_write_data(p->a, buf, r) != r) {
			p->failed = 1;
			return (-1);
		}
	}
	return (fewer);
}

static int
pack_wanted(void *arg)
{
	(void)arg;
	return (1);
}

/* The tree's own file; that there is none is usual. */
static int
ignore_file(struct ignore *ig, int dir)
{
	struct stat	 st;
	ssize_t		 n = -1;
	int		 fd;

	fd = openat(dir, TAR_IGNORE_FILE, O_RDONLY | O_NOFOLLOW |
	    O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		return (errno == ENOENT ? 0 : -1);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= IGNORE_BYTES)
		n = read(fd, buf, IGNORE_BYTES);
	close(fd);
	return (n == -1 ? -1 : ignore_add(ig, buf, n));
}

static struct ignore *
ignore_all(int dir, const char *flags, const char *patterns)
{
	struct ignore	*ig;

	if ((ig = ignore_new()) == NULL)
		err(1, NULL);
	if (TAR_HAS(flags, TAR_IGNORE) && ignore_file(ig, dir) == -1)
		return (NULL);
	if (ignore_add(ig, patterns, strlen(patterns)) == -1)
		return (NULL);
	/* Behind all the others: none of them takes these back. */
	if (TAR_HAS(flags, TAR_SECRETS) &&
	    ignore_add(ig, secrets, sizeof(secrets) - 1) == -1)
		errx(1, "secrets");
	return (ig);
}

/* Names that are no directories. */
static int
count_head(void *arg, const struct pack_entry *e)
{
	uint64_t	*files = arg;

	*files += e->type != PACK_DIR;
	return (0);
}

static int
count_body(void *arg, int fd, const struct pack_entry *e)
{
	(void)arg;
	(void)fd;
	(void)e;
	return (0);
}

/* What cannot travel is told when it is to. */
static int
count_note(void *arg, const char *path, enum code code, const char *why)
{
	(void)arg;
	(void)path;
	(void)code;
	(void)why;
	return (0);
}

static int
tar_count(struct ignore *ig, int dir)
{
	struct pack	 p;
	uint64_t	 files = 0;
	int		 error;

	memset(&p, 0, sizeof(p));
	p.head = count_head;
	p.body = count_body;
	p.note = count_note;
	p.wanted = pack_wanted;
	p.arg = &files;
	p.ignore = ig;
	error = pack(&p, dir);
	counts(files, 0, p.bytes);
	return (error == 0 ? 0 : tar_fail(errno_code(error),
	    strerror(error)));
}

int
tar_pack(const char *flags, const char *limit, const char *path,
    const char *patterns)
{
	struct packing	 t = { NULL, NULL, 0 };
	struct pack	 p;
	struct tar_place place = { -1, TAR_MAY_READ };
	struct ignore	*ig;
	int		 error;

	memset(&p, 0, sizeof(p));
	if ((place.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (tar_fail(errno_code(errno), strerror(errno)));
	if ((t.a = archive_write_new()) == NULL ||
	    (t.e = archive_entry_new()) == NULL)
		err(1, NULL);
	tar_confine(&place, 1);
	if ((ig = ignore_all(place.fd, flags, patterns)) == NULL)
		return (tar_fail(CODE_INVALID_ARGUMENT, "a pattern of what is "
		    "left out, or " TAR_IGNORE_FILE ", is none"));
	/* Who asks how large it is has the limit. */
	if (TAR_HAS(flags, TAR_COUNT))
		return (tar_count(ig, place.fd));
	if (archive_write_set_format_pax(t.a) != ARCHIVE_OK ||
	    archive_write_set_options(t.a, "hdrcharset=BINARY") !=
	    ARCHIVE_OK || archive_write_set_bytes_per_block(t.a, BLOCK) !=
	    ARCHIVE_OK || archive_write_set_bytes_in_last_block(t.a, 1) !=
	    ARCHIVE_OK || archive_write_open_fd(t.a, STDOUT_FILENO) !=
	    ARCHIVE_OK)
		return (tar_fail(CODE_INTERNAL, archive_error_string(t.a)));
	p.head = pack_head;
	p.body = pack_body;
	p.note = note_pack;
	p.wanted = pack_wanted;
	p.arg = &t;
	p.ignore = ig;
	p.files = TAR_HAS(flags, TAR_FILES);
	p.limit = strtoull(limit, NULL, 10);
	error = pack(&p, place.fd);
	counts(p.entries, p.notes, p.bytes);
	if (t.failed)
		return (tar_fail(CODE_IO_ERROR, archive_error_string(t.a)));
	if (error == EFBIG)
		return (tar_fail(CODE_TOO_LARGE, "it is larger than the limit"));
	if (error != 0)
		return (tar_fail(errno_code(error), strerror(error)));
	if (archive_write_close(t.a) != ARCHIVE_OK)
		return (tar_fail(CODE_IO_ERROR, archive_error_string(t.a)));
	return (0);
}

/* One that comes. */
struct unpacking {
	struct archive	*a;
	struct place	 p;
	char		 dir[PATH_MAX];	/* of the name, if that waits */
	const char	*name;
	char		 tmp[NAME_MAX + 1];
	int		 dirfd;
	int		 oldfd;		/* what has the name until then */
	uint64_t	 noted;		/* by the guest */
};

static ssize_t
unpack_read(struct archive *a, void *arg, const void **p)
{
	ssize_t	 n;

	(void)arg;
	*p = buf;
	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) == -1)
		if (errno != EINTR) {
			archive_set_error(a, errno, "read");
			return (-1);
		}
	return (n);
}

static int
unpack_body(void *arg, int fd, const struct pack_entry *e)
{
	struct unpacking	*u = arg;
	const void		*p;
	size_t			 len;
	int64_t			 off;
	int			 n, error;

	while ((n = archive_read_data_block(u->a, &p, &len, &off)) ==
	    ARCHIVE_OK || n == ARCHIVE_WARN) {
		/* Libarchive has looked at it; we look again. */
		if (off < 0 || (uint64_t)off > e->size ||
		    len > e->size - (uint64_t)off)
			return (ECANCELED);
		if ((error = place_write(fd, p, len, off)) != 0)
			return (error);
	}
	return (n == ARCHIVE_EOF ? 0 : ECANCELED);
}

static void
unpack_note(void *arg, const char *path, enum code code, const char *why)
{
	(void)arg;
	tar_tell(TAR_NOTE, code, path, why);
}

/* The guest's word about an entry: a number and a text. */
static int
is_note(struct unpacking *u, struct archive_entry *e, const char *path)
{
	const char	*name;
	const void	*v;
	char		 text[256], *end;
	size_t		 len;
	unsigned long	 code;

	archive_entry_xattr_reset(e);
	while (archive_entry_xattr_next(e, &name, &v, &len) == ARCHIVE_OK) {
		if (name == NULL || strcmp(name, NOTE_NAME) != 0)
			continue;
		if (len > sizeof(text) - 1)
			len = sizeof(text) - 1;
		memcpy(text, v, len);
		text[len] = '\0';
		code = strtoul(text, &end, 10);
		if (*end == ' ')
			end++;
		if (code == CODE_OK || code >= CODE_MAX)
			code = CODE_PROTOCOL;
		if (u->noted++ < PACK_NOTES)
			tar_tell(TAR_NOTE, code, path, end);
		return (1);
	}
	return (0);
}

static int
unpack_entry(struct unpacking *u, struct archive_entry *e)
{
	struct pack_entry	 pe;
	const char		*s;

	memset(&pe, 0, sizeof(pe));
	if ((pe.path = archive_entry_pathname(e)) == NULL ||
	    strlen(pe.path) > PACK_PATH) {
		unpack_note(u, "", CODE_INVALID_PATH,
		    "an entry without a name, or too long a one: left out");
		u->p.notes++;
		return (0);
	}
	if (is_note(u, e, pe.path))
		return (0);
	pe.link = "";
	pe.type = PACK_OTHER;
	if ((s = archive_entry_hardlink(e)) != NULL) {
		pe.type = PACK_HARD;
		pe.link = s;
	} else if (archive_entry_filetype(e) == AE_IFREG)
		pe.type = PACK_FILE;
	else if (archive_entry_filetype(e) == AE_IFDIR)
		pe.type = PACK_DIR;
	else if (archive_entry_filetype(e) == AE_IFLNK &&
	    (s = archive_entry_symlink(e)) != NULL) {
		pe.type = PACK_LINK;
		pe.link = s;
	}
	if (strlen(pe.link) > PACK_PATH)
		pe.type = PACK_OTHER;
	pe.mode = archive_entry_perm(e);
	pe.sec = archive_entry_mtime(e);
	pe.nsec = archive_entry_mtime_nsec(e);
	/* And reads it so. */
	if (pe.sec < 0 && pe.nsec > 0 && pe.nsec < 1000000000) {
		pe.sec--;
		pe.nsec = 1000000000 - pe.nsec;
	}
	if (pe.type == PACK_FILE && archive_entry_size(e) > 0)
		pe.size = archive_entry_size(e);
	return (place_entry(&u->p, &pe));
}

/* The directory itself, or one beside it that has no name yet. */
static int
unpack_open(struct unpacking *u, const char *path, int atomic)
{
	char	*slash;
	int	 fd;

	if (!atomic) {
		if (mkdir(path, 0777) == -1 && errno != EEXIST)
			return (-1);
		/* That name is the tree's: it is no way to somewhere else. */
		return (open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC));
	}
	if (snprintf(u->dir, sizeof(u->dir), "%s", path) >=
	    (int)sizeof(u->dir)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	while ((slash = strrchr(u->dir, '/')) != NULL && slash > u->dir &&
	    slash[1] == '\0')
		*slash = '\0';
	if (slash == NULL) {
		u->name = path;
		fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	} else {
		u->name = slash + 1;
		*slash = '\0';
		fd = open(slash == u->dir ? "/" : u->dir,
		    O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if ((u->dirfd = fd) == -1)
		return (-1);
	u->oldfd = openat(fd, u->name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (u->oldfd == -1 && errno != ENOENT)
		return (-1);
	snprintf(u->tmp, sizeof(u->tmp), ".sandboxctl-%d", (int)getpid());
	if (mkdirat(fd, u->tmp, 0777) == -1) {
		u->tmp[0] = '\0';
		return (-1);
	}
	return (openat(fd, u->tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC));
}

static int
unpack_name(struct unpacking *u)
{
	if (syscall(SYS_renameat2, u->dirfd, u->tmp, u->dirfd, u->name,
	    RENAME_NOREPLACE) == 0) {
		u->tmp[0] = '\0';
		return (0);
	}
	if (errno != EEXIST || u->oldfd == -1)
		return (errno);
	/* The old one goes by the name that ours had. */
	return (syscall(SYS_renameat2, u->dirfd, u->tmp, u->dirfd, u->name,
	    RENAME_EXCHANGE) == -1 ? errno : 0);
}

/* Our side has found that the call ended well. */
static int
verdict(void)
{
	char	 c;
	ssize_t	 n;

	while ((n = read(TAR_VERDICT_FD, &c, 1)) == -1 && errno == EINTR)
		;
	return (n == 1);
}

static int
unpack_all(struct unpacking *u)
{
	struct archive_entry	*e;
	int			 n, error = 0;

	while ((n = archive_read_next_header(u->a, &e)) == ARCHIVE_OK ||
	    n == ARCHIVE_WARN || n == ARCHIVE_RETRY) {
		if (n != ARCHIVE_RETRY && (error = unpack_entry(u, e)) != 0)
			break;
	}
	place_end(&u->p);
	if (error == ECANCELED || (error == 0 && n != ARCHIVE_EOF))
		return (tar_fail(CODE_PROTOCOL, "the stream is no tar archive, "
		    "or not all of one"));
	if (error == EFBIG)
		return (tar_fail(CODE_TOO_LARGE, "it is larger than the limit"));
	if (error != 0)
		return (tar_fail(errno_code(error), strerror(error)));
	/* What stands behind the end is padding. */
	while (read(STDIN_FILENO, buf, sizeof(buf)) > 0)
		;
	return (0);
}

int
tar_unpack(const char *flags, const char *limit, const char *path)
{
	static struct unpacking	 u;
	struct tar_place	 places[3];
	int			 fd, error, ret, n = 1;

	/* Who interrupts sandboxctl lets us clean up. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	u.dirfd = u.oldfd = -1;
	if ((fd = unpack_open(&u, path, TAR_HAS(flags, TAR_ATOMIC))) == -1)
		return (tar_fail(errno_code(errno), strerror(errno)));
	if ((u.a = archive_read_new()) == NULL)
		err(1, NULL);
	u.p.mask = umask(0);
	umask(u.p.mask);
	places[0].fd = fd;
	places[0].may = TAR_MAY_WRITE;
	if (u.dirfd != -1) {
		places[n].fd = u.dirfd;
		places[n++].may = TAR_MAY_RENAME;
	}
	if (u.oldfd != -1) {
		places[n].fd = u.oldfd;
		places[n++].may = TAR_MAY_WRITE;
	}
	tar_confine(places, n);
	u.p.body = unpack_body;
	u.p.note = unpack_note;
	u.p.arg = &u;
	u.p.limit = strtoull(limit, NULL, 10);
	place_begin(&u.p, fd);
	if (archive_read_support_format_tar(u.a) != ARCHIVE_OK ||
	    archive_read_open(u.a, NULL, NULL, unpack_read, NULL) !=
	    ARCHIVE_OK)
		ret = tar_fail(CODE_PROTOCOL, "the stream is no tar archive");
	else
		ret = unpack_all(&u);
	if (ret == 0 && !verdict())
		ret = 1;
	if (ret == 0 && u.tmp[0] != '\0' && (error = unpack_name(&u)) != 0)
		ret = tar_fail(errno_code(error), strerror(error));
	if (u.tmp[0] != '\0')
		place_remove(u.dirfd, u.tmp);
	counts(u.p.entries, u.p.notes + u.noted, u.p.bytes);
	return (ret);
}
