/*
 * cmd_tree.c: trees into a sandbox and out of it, a call for each.
 *
 * What a sandbox sends is not looked at here: sandboxctl-tar reads it, which
 * can do nothing but make files below one directory.  The same program reads
 * our own trees, and so judges in one place what is left out.
 */

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filerec.h"
#include "sandboxctl.h"
#include "tar.h"

#define NOTES_MAX	(16U << 20)	/* bytes of what the helper tells */

extern char	**environ;

/* A tree under way. */
struct tree {
	struct ctl	*ctl;
	const char	*local;
	const char	*remote;
	pid_t		 pid;		/* of the helper, 0: none */
	int		 fd;		/* its input or output */
	int		 notes;
	int		 verdict;
	int		 error;		/* errno of fd */
	int		 broken;	/* the helper has failed */
	int		 told;		/* why */
	int		 cut;		/* the call failed, and the stream */
	uint64_t	 entries;
	uint64_t	 left_out;
	uint64_t	 bytes;
	struct rec_reader *rec;
};

/* What -j tells of one. */
struct moved {
	char		*path;
	uint64_t	 entries;
	uint64_t	 left_out;
	uint64_t	 bytes;
};

static void
tree_close(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static void
tree_print(struct ctl *ctl, const struct tree *t, const char *path)
{
	static const struct msg_field	 fields[] = {
		MSG_F(moved, path, M_TEXT, 0, 0),
		MSG_F(moved, entries, M_UINT, 0, 0),
		MSG_F(moved, left_out, M_UINT, 0, 0),
		MSG_F(moved, bytes, M_UINT, 0, 0),
	};
	static const struct msg_def	 def = MSG_DEF(0, "moved", moved,
					    fields);
	struct moved			 m = { (char *)(uintptr_t)path,
	    t->entries, t->left_out, t->bytes };

	if (ctl->json)
		json_message(stdout, &def, &m);
}

/* An entry was left out, or is not what it was. */
static void
tree_note(struct tree *t, const char *top, const char *path, enum code code,
    const char *why)
{
	char	 name[PATH_MAX + CALL_PATH_MAX];

	if ((unsigned int)code >= CODE_MAX || code == CODE_OK)
		code = CODE_PROTOCOL;
	snprintf(name, sizeof(name), "%s%s%s", top, *path == '\0' ? "" : "/",
	    path);
	file_local(t->ctl, code, name, why);
}

/* Our end of fds is the one that is not the child's. */
static void
tree_child(struct tree *t, char **argv, int in, int out, int verdict)
{
	char		 buf[PATH_MAX];
	const char	*path = tar_path(buf, sizeof(buf));
	int		 fds[5], i;

	/* Beyond all numbers that they are to have. */
	fds[0] = fcntl(in, F_DUPFD_CLOEXEC, 10);
	fds[1] = fcntl(out, F_DUPFD_CLOEXEC, 10);
	fds[2] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	fds[TAR_NOTES_FD] = fcntl(t->notes, F_DUPFD_CLOEXEC, 10);
	fds[TAR_VERDICT_FD] = fcntl(verdict, F_DUPFD_CLOEXEC, 10);
	for (i = 0; i < 5; i++)
		if (fds[i] == -1 || dup2(fds[i], i) == -1)
			_exit(EXIT_OURS);
	signal(SIGPIPE, SIG_DFL);
	execve(path, argv, environ);
	fprintf(stderr, "sandboxctl: %s: %s\n", path, strerror(errno));
	_exit(EXIT_OURS);
}

/*
 * Starts the helper; its other end of the pipe is t->fd.  What it reads is
 * ours if pack; what it writes else goes to out, or nowhere.
 */
static int
tree_helper(struct tree *t, char **argv, int pack, int out)
{
	int	 fds[2] = { -1, -1 }, say[2] = { -1, -1 }, null;

	t->notes = memfd_create("notes", MFD_CLOEXEC);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (t->notes == -1 || null == -1 || pipe2(fds, O_CLOEXEC) == -1 ||
	    pipe2(say, O_CLOEXEC) == -1 || (t->pid = fork()) == -1) {
		t->pid = 0;
		tree_close(&fds[0]);
		tree_close(&fds[1]);
		tree_close(&say[0]);
		tree_close(&say[1]);
		tree_close(&null);
		tree_close(&t->notes);
		return (file_errno(t->ctl, t->local));
	}
	/* More at a time, where there is room. */
	(void)fcntl(fds[0], F_SETPIPE_SZ, 1 << 20);
	if (t->pid == 0)
		tree_child(t, argv, pack ? null : fds[0],
		    pack ? fds[1] : out == -1 ? null : out, say[0]);
	close(null);
	close(say[0]);
	t->verdict = say[1];
	t->fd = fds[pack ? 0 : 1];
	close(fds[pack ? 1 : 0]);
	return (0);
}

static int
tree_start(struct tree *t, int pack, const char *flags, const char *patterns)
{
	char	 limit[24];
	char	*argv[] = { (char *)(uintptr_t)"sandboxctl-tar",
	    (char *)(uintptr_t)(pack ? "pack" : "unpack"),
	    (char *)(uintptr_t)flags, limit, (char *)(uintptr_t)t->local,
	    pack ? (char *)(uintptr_t)patterns : NULL, NULL };

	snprintf(limit, sizeof(limit), "%llu",
	    (unsigned long long)t->ctl->most);
	return (tree_helper(t, argv, pack, -1));
}

/* One thing that the helper tells; the end of it, or NULL. */
static const char *
notes_one(struct tree *t, const char *p, const char *end)
{
	const char		*path, *why;
	unsigned long long	 n;

	if ((path = memchr(p, '\0', end - p)) == NULL)
		return (NULL);
	path++;
	if ((why = memchr(path, '\0', end - path)) == NULL)
		return (NULL);
	why++;
	if (memchr(why, '\0', end - why) == NULL)
		return (NULL);
	n = strtoull(p + 1, NULL, 10);
	switch (*p) {
	case TAR_NOTE:
		tree_note(t, t->local, path, n < CODE_MAX ? n :
		    CODE_PROTOCOL, why);
		break;
	case TAR_ERROR:
		/* Of half a stream it tells only that. */
		if (t->cut)
			break;
		tree_note(t, t->local, "", n < CODE_MAX ? n : CODE_PROTOCOL,
		    why);
		t->told = 1;
		break;
	case TAR_ENTRIES:
		t->entries = n;
		break;
	case TAR_LEFT:
		t->left_out += n;
		break;
	case TAR_BYTES:
		t->bytes = n;
		break;
	}
	return (why + strlen(why) + 1);
}

static void
tree_notes(struct tree *t)
{
	const char	*p, *end;
	struct stat	 st;
	void		*map;

	if (fstat(t->notes, &st) == -1 || st.st_size == 0 ||
	    st.st_size > NOTES_MAX || (map = mmap(NULL, st.st_size,
	    PROT_READ, MAP_PRIVATE, t->notes, 0)) == MAP_FAILED)
		return;
	end = (const char *)map + st.st_size;
	for (p = map; p != NULL && p < end;)
		p = notes_one(t, p, end);
	munmap(map, st.st_size);
}

/* The helper has ended, or does so now; 0 if it did all. */
static int
tree_wait(struct tree *t)
{
	int	 status;

	tree_close(&t->fd);
	tree_close(&t->verdict);
	if (t->pid == 0)
		return (t->broken ? -1 : 0);
	while (waitpid(t->pid, &status, 0) == -1)
		if (errno != EINTR) {
			t->broken = 1;
			break;
		}
	t->pid = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		t->broken = 1;
	return (t->broken ? -1 : 0);
}

static ssize_t
tree_in(void *arg, void *buf, size_t size)
{
	struct tree	*t = arg;
	ssize_t		 n;

	/* Only who catches signals hears of one. */
	do {
		n = -1;
		errno = EINTR;
		if (signals_got() == 0)
			n = read(t->fd, buf, size);
	} while (n == -1 && errno == EINTR && signals_got() == 0);
	if (n == -1) {
		t->error = errno;
		return (-1);
	}
	progress_add(n);
	/* The end of half a tree must not look like that of all of it. */
	if (n == 0 && t->pid != 0 && tree_wait(t) == -1)
		return (-1);
	return (n);
}

static int
tree_out(void *arg, const void *data, size_t len)
{
	struct tree	*t = arg;
	const char	*p = data;
	ssize_t		 n;

	progress_add(len);
	for (; len > 0; p += n, len -= n)
		if ((n = write(t->fd, p, len)) == -1) {
			if (errno != EINTR) {
				t->error = errno;
				return (-1);
			}
			n = 0;
		}
	return (0);
}

/* A record of what the guest has left out. */
static int
tree_left(void *arg, void *rec)
{
	struct tree		*t = arg;
	struct file_rec		*r = rec;

	tree_note(t, t->remote, r->name, r->code < CODE_MAX ? r->code :
	    CODE_PROTOCOL, r->target);
	return (0);
}

static int
tree_records(void *arg, const void *data, size_t len)
{
	struct tree	*t = arg;

	return (rec_feed(t->rec, data, len));
}

static void
tree_begin(struct tree *t, struct ctl *ctl, const char *local,
    const char *remote)
{
	memset(t, 0, sizeof(*t));
	t->ctl = ctl;
	t->local = local;
	t->remote = remote;
	t->fd = t->notes = t->verdict = -1;
	signal(SIGPIPE, SIG_IGN);
}

/* Patterns as lines, in memory of the caller's. */
static char *
tree_patterns(struct ctl *ctl)
{
	size_t	 i, len = 1;
	char	*s;

	for (i = 0; i < ctl->exclude.n; i++)
		len += strlen(ctl->exclude.v[i]) + 1;
	if ((s = calloc(1, len)) == NULL) {
		ctl_errno(ctl, "memory");
		return (NULL);
	}
	for (i = 0; i < ctl->exclude.n; i++) {
		strlcat(s, ctl->exclude.v[i], len);
		strlcat(s, "\n", len);
	}
	return (s);
}

/* What has come of it: 0, 1 if something failed, -1 to give up. */
static int
tree_over(struct tree *t, int ret, const char *path)
{
	progress_end();
	if (tree_wait(t) == -1 && ret == 0)
		ret = 1;
	if (t->notes != -1)
		tree_notes(t);
	tree_close(&t->notes);
	if (t->rec != NULL && t->rec->why != NULL)
		return (file_local(t->ctl, CODE_PROTOCOL, t->remote,
		    "the guest talks nonsense"), 1);
	/* The helper may have had the signal as well. */
	if (ret == -1 && signals_got() != 0)
		return (file_local(t->ctl, CODE_CANCELLED, path,
		    "interrupted"), 1);
	/* Whose fault it was first is told. */
	if (t->told)
		return (1);
	if (ret == -1 && t->error != 0 && t->error != EPIPE) {
		errno = t->error;
		(void)file_errno(t->ctl, path);
		return (1);
	}
	if (!t->cut && t->broken && (ret == 1 || t->error == EPIPE ||
	    sandbox_error(t->ctl->conn)->code == CODE_CANCELLED)) {
		file_local(t->ctl, CODE_INTERNAL, t->local,
		    "sandboxctl-tar failed");
		return (1);
	}
	if (ret == -1)
		return (file_error(t->ctl, t->remote) == -1 ? -1 : 1);
	return (ret);
}

/*
 * A local tree, or a stream for "-".  0, 1 if it is not there as a whole; -1
 * if there is no sense in going on.
 */
int
tree_put(struct ctl *ctl, const char *id, const char *local,
    const char *remote, int how)
{
	struct sandbox_file_io	 io = { tree_in, tree_records, NULL };
	struct proto_result	 res;
	struct proto_call	 c;
	struct tree		 t;
	char			*patterns;
	int			 ret;

	tree_begin(&t, ctl, local, remote);
	memset(&res, 0, sizeof(res));
	if ((patterns = tree_patterns(ctl)) == NULL)
		return (1);
	if (strcmp(local, "-") == 0)
		t.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 5);
	else if (tree_start(&t, 1, how & TREE_FILES ? "f" :
	    how & TREE_NO_SECRETS ? "si" : "i", patterns) != 0) {
		free(patterns);
		return (1);
	}
	free(patterns);
	if ((t.rec = calloc(1, sizeof(*t.rec))) == NULL)
		return (ctl_errno(ctl, "memory"), 1);
	t.rec->def = &file_rec_def;
	t.rec->take = tree_left;
	t.rec->arg = &t;
	file_call(ctl, &c, CALL_TREE_PUT, remote);
	c.sandbox = (char *)(uintptr_t)id;
	c.limit = ctl->most;
	c.flags = (ctl->atomic ? CALL_F_ATOMIC : 0) |
	    (ctl->parents ? CALL_F_PARENTS : 0);
	io.arg = &t;
	progress_begin(ctl, 0);
	ret = sandbox_file_call(ctl->conn, &c, &io, &res);
	t.bytes = progress_bytes();
	t.entries = res.count;
	ret = tree_over(&t, ret, local);
	t.left_out += res.count2;
	free(t.rec);
	if (ret == 0 && !(how & TREE_QUIET))
		tree_print(ctl, &t, remote);
	return (ret);
}

/*
 * How many files, and bytes in them, tree_put() would send: 0, or an exit
 * status.
 */
int
tree_size(struct ctl *ctl, const char *local, int how, uint64_t *files,
    uint64_t *bytes)
{
	struct tree	 t;
	char		*patterns;
	int		 ret;

	tree_begin(&t, ctl, local, "");
	/* What is not told is not none. */
	t.entries = t.bytes = UINT64_MAX;
	if ((patterns = tree_patterns(ctl)) == NULL)
		return (ctl->failed);
	ret = tree_start(&t, 1, how & TREE_NO_SECRETS ? "sin" : "in",
	    patterns);
	free(patterns);
	if (ret != 0)
		return (ctl->failed);
	ret = tree_over(&t, tree_wait(&t) == -1, local);
	*files = t.entries;
	*bytes = t.bytes;
	if (ret == 0 && (*files == UINT64_MAX || *bytes == UINT64_MAX))
		return (file_local(ctl, CODE_INTERNAL, local,
		    "sandboxctl-tar has not told how large it is"));
	return (ret == 0 ? 0 : ctl->failed);
}

/* A directory of the sandbox, to a local one or as a stream to "-". */
int
tree_get(struct ctl *ctl, const char *remote, const char *local)
{
	struct sandbox_file_io	 io = { NULL, tree_out, NULL };
	struct proto_result	 res;
	struct proto_call	 c;
	struct tree		 t;
	char			*patterns;
	int			 ret, stream = strcmp(local, "-") == 0;

	tree_begin(&t, ctl, local, remote);
	memset(&res, 0, sizeof(res));
	if ((patterns = tree_patterns(ctl)) == NULL)
		return (1);
	file_call(ctl, &c, CALL_TREE_GET, remote);
	c.limit = ctl->most;
	c.flags = stream ? 0 : CALL_F_NOTES;
	c.pattern = patterns;
	io.arg = &t;
	if (stream)
		t.fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 5);
	else if (tree_start(&t, 0, ctl->atomic ? "a" : "-", NULL) != 0) {
		free(patterns);
		return (1);
	}
	progress_begin(ctl, 0);
	ret = sandbox_file_call(ctl->conn, &c, &io, &res);
	free(patterns);
	t.bytes = progress_bytes();
	t.entries = res.count;
	tree_close(&t.fd);
	t.cut = ret == -1 && t.error == 0;
	/* All has come, and is what the daemon says: the word for its name. */
	if (ret == 0 && !stream && write(t.verdict, "1", 1) != 1)
		t.broken = 1;
	ret = tree_over(&t, ret, local);
	if (ret == 0 && stream && res.count2 > 0) {
		t.left_out = res.count2;
		file_local(ctl, CODE_CONFLICT, remote, "some of its entries "
		    "are left out, or changed meanwhile");
	}
	if (ret == 0 && !stream)
		tree_print(ctl, &t, local);
	return (ret);
}

/* What has changed in a directory of the sandbox, as a patch to our output. */
int
tree_patch(struct ctl *ctl, const char *remote, const char *mark)
{
	char			 limit[24];
	char			*argv[] = { (char *)(uintptr_t)"sandboxctl-tar",
	    (char *)(uintptr_t)"patch", limit, NULL };
	struct sandbox_file_io	 io = { NULL, tree_out, NULL };
	struct proto_result	 res;
	struct proto_call	 c;
	struct tree		 t;
	int			 ret;

	/* Names of what is left out are below the directory. */
	tree_begin(&t, ctl, remote, remote);
	memset(&res, 0, sizeof(res));
	snprintf(limit, sizeof(limit), "%llu", (unsigned long long)ctl->most);
	if (tree_helper(&t, argv, 0, STDOUT_FILENO) != 0)
		return (1);
	file_call(ctl, &c, CALL_CHANGES, remote);
	c.pattern = (char *)(uintptr_t)mark;
	io.arg = &t;
	progress_begin(ctl, 0);
	ret = sandbox_file_call(ctl->conn, &c, &io, &res);
	tree_close(&t.fd);
	t.cut = ret == -1 && t.error == 0;
	ret = tree_over(&t, ret, remote);
	if (ret == 0 && res.flags & CALL_R_DENIED)
		file_local(ctl, CODE_PERMISSION_DENIED, remote,
		    "a part of it cannot be compared, and is left out");
	return (ret);
}
