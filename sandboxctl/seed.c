/*
 * seed.c: what a new sandbox is given before anybody hears of it: -C and -P of
 * create and run.  It is read here, with the rights of who calls us; a sandbox
 * that does not get all of it is removed again.
 */

#include <sys/stat.h>

#include <limits.h>
#include <string.h>

#include "sandboxctl.h"

/* local:remote, of which only the remote one may have no colon. */
int
seed_split(const char *seed, char *local, size_t size, const char **remote)
{
	const char	*p = strrchr(seed, ':');

	if (p == NULL || p == seed || p[1] == '\0' ||
	    (size_t)(p - seed) >= size)
		return (-1);
	memcpy(local, seed, p - seed);
	local[p - seed] = '\0';
	*remote = p + 1;
	return (0);
}

static int
seed_how(const struct ctl *ctl)
{
	return (TREE_QUIET | (ctl->secrets ? 0 : TREE_NO_SECRETS));
}

/*
 * Before anything is made, and after what is left out: all of -C together.
 * A tree that grows meanwhile meets the bytes again where it is read.
 */
static int
seeds_bounded(struct ctl *ctl)
{
	char		 local[PATH_MAX], text[96];
	const char	*remote;
	struct stat	 st;
	uint64_t	 files = 0, bytes = 0, n, size;
	size_t		 i;

	for (i = 0; i < ctl->seeds.n; i++) {
		if (seed_split(ctl->seeds.v[i], local, sizeof(local),
		    &remote) == -1 || stat(local, &st) == -1)
			return (file_errno(ctl, ctl->seeds.v[i]));
		n = 1;
		size = st.st_size;
		if (S_ISDIR(st.st_mode) && tree_size(ctl, local,
		    seed_how(ctl), &n, &size) != 0)
			return (ctl->failed);
		files += n;
		bytes += size;
	}
	if (ctl->max_set && files > ctl->max) {
		snprintf(text, sizeof(text), "%llu files: the limit of -N is "
		    "%llu", (unsigned long long)files,
		    (unsigned long long)ctl->max);
		return (ctl_error_code(ctl, CODE_TOO_LARGE, "", text));
	}
	if (ctl->most != 0 && bytes > ctl->most) {
		snprintf(text, sizeof(text), "%llu bytes: the limit of -B is "
		    "%llu", (unsigned long long)bytes,
		    (unsigned long long)ctl->most);
		return (ctl_error_code(ctl, CODE_TOO_LARGE, "", text));
	}
	return (0);
}

/* Before anything is made: 0, or an exit status. */
int
seeds_check(struct ctl *ctl)
{
	char		 local[PATH_MAX];
	const char	*remote;
	struct stat	 st;
	size_t		 i;

	if ((ctl->seeds.n > 0 || ctl->prepare != NULL) && ctl->detach)
		return (ctl_error_code(ctl, CODE_INVALID_ARGUMENT, "", "what "
		    "needs a sandbox that is ready does not go with -d"));
	for (i = 0; i < ctl->seeds.n; i++) {
		if (seed_split(ctl->seeds.v[i], local, sizeof(local),
		    &remote) == -1)
			return (file_local(ctl, CODE_INVALID_ARGUMENT,
			    ctl->seeds.v[i], "must be local:remote"));
		if (stat(local, &st) == -1)
			return (file_errno(ctl, local));
	}
	return (ctl->max_set || ctl->most != 0 ? seeds_bounded(ctl) : 0);
}

static int
seed_put(struct ctl *ctl, const char *id, const char *local,
    const char *remote)
{
	struct stat	 st;
	enum code	 code = ctl->code;
	int		 failed = ctl->failed, ret;

	if (stat(local, &st) == -1)
		return (file_errno(ctl, local));
	if (!S_ISDIR(st.st_mode))
		return (put_file(ctl, id, local, remote));
	ret = tree_put(ctl, id, local, remote, seed_how(ctl));
	/* What cannot travel was told; the tree is there without it. */
	if (ret == 0) {
		ctl->failed = failed;
		ctl->code = code;
	}
	return (ret);
}

/* To delete twice is to delete: ask again after a restart. */
static void
seed_remove(struct ctl *ctl, char *id)
{
	struct proto_ref	 req;

	memset(&req, 0, sizeof(req));
	req.id = id;
	req.wait = 1;
	while (sandbox_delete(ctl->conn, &req, NULL, NULL) == -1)
		if (!ctl_lost(ctl) || ctl_reopen(ctl) == -1) {
			(void)ctl_error(ctl);
			return;
		}
}

/* For export -p: without it the sandbox is as good, and so this is no error. */
static void
seeds_mark(struct ctl *ctl, char *id)
{
	struct proto_call	 c;
	enum code		 code = ctl->code;
	int			 failed = ctl->failed;

	if (ctl->seeds.n == 0)
		return;
	file_call(ctl, &c, CALL_MARK, ".");
	c.sandbox = id;
	c.pattern = (char *)(uintptr_t)MARK_SEED;
	c.flags = CALL_F_CONTENTS;
	if (sandbox_file_call(ctl->conn, &c, NULL, NULL) == -1) {
		(void)file_error(ctl, "the mark " MARK_SEED);
		ctl->failed = failed;
		ctl->code = code;
	}
}

/*
 * The directory of -w.  Where it cannot be made the first command that is to
 * start there is told, and nobody is who does not need it.
 */
void
seeds_dir(struct ctl *ctl, char *id)
{
	struct proto_call	 c;

	if (ctl->dir == NULL || ctl->detach)
		return;
	file_call(ctl, &c, CALL_MKDIR, ctl->dir);
	c.sandbox = id;
	c.flags = CALL_F_PARENTS;
	(void)sandbox_file_call(ctl->conn, &c, NULL, NULL);
}

/* What was put there may be what it runs. */
static int
seed_prepare(struct ctl *ctl, char *id)
{
	char	 text[64];
	int	 status;

	if (ctl->prepare == NULL)
		return (0);
	if ((status = exec_prepare(ctl, id, ctl->prepare)) == 0)
		return (0);
	snprintf(text, sizeof(text), "its -P ended with status %d", status);
	return (file_local(ctl, CODE_INTERNAL, id, text));
}

/*
 * It has what it was to have, and may be ready.  Where the daemon was lost
 * meanwhile nobody knows how much of that has survived: that is a failure.
 */
static int
seed_release(struct ctl *ctl, char *id, struct proto_sandbox *s)
{
	struct proto_sandbox	 ready;
	struct proto_ref	 req;

	memset(&ready, 0, sizeof(ready));
	memset(&req, 0, sizeof(req));
	req.id = id;
	req.wait = 1;
	if (sandbox_resume(ctl->conn, &req, NULL, &ready) == -1)
		return (ctl_error(ctl));
	msg_clear(s, proto_def(PROTO_SANDBOX));
	*s = ready;
	return (0);
}

/* What one has brought gives way to a file that a later one has. */
static int
seed_place(struct ctl *ctl, char *id, const char *local, const char *remote)
{
	struct proto_call	 c;
	struct stat		 st;

	if (stat(local, &st) == -1 || S_ISDIR(st.st_mode) ||
	    !file_is_link(ctl, id, remote))
		return (0);
	file_call(ctl, &c, CALL_REMOVE, remote);
	c.sandbox = id;
	if (sandbox_file_call(ctl->conn, &c, NULL, NULL) == 0)
		return (0);
	(void)file_error(ctl, remote);
	return (-1);
}

/* All of -C, in the order in which it was given. */
static int
seeds_copy(struct ctl *ctl, char *id)
{
	char		 local[PATH_MAX];
	const char	*remote;
	size_t		 i;

	ctl->parents = 1;
	for (i = 0; i < ctl->seeds.n; i++)
		if (signals_got() != 0 || seed_split(ctl->seeds.v[i], local,
		    sizeof(local), &remote) == -1 ||
		    (i > 0 && seed_place(ctl, id, local, remote) == -1) ||
		    seed_put(ctl, id, local, remote) != 0)
			return (-1);
	return (0);
}

/*
 * 0: all is there, the sandbox is ready, and s tells of it; else it is not
 * there any more, unless that was asked for.
 */
int
seeds_put(struct ctl *ctl, char *id, struct proto_sandbox *s, int mark)
{
	enum code	 why;
	int		 held = ctl->seeds.n > 0;

	if (!held && ctl->prepare == NULL)
		return (0);
	/* Who is interrupted has still to remove what it has made. */
	if (signals_catch() == -1)
		(void)ctl_errno(ctl, "signals");
	if (seeds_copy(ctl, id) == 0) {
		if (mark && ctl->prepare == NULL)
			seeds_mark(ctl, id);
		if (held && signals_got() == 0 &&
		    seed_release(ctl, id, s) == 0)
			held = 0;
		if (!held && seed_prepare(ctl, id) == 0) {
			if (mark && ctl->prepare != NULL)
				seeds_mark(ctl, id);
			return (0);
		}
	}
	/* By the error that this comes of. */
	why = ctl->code == CODE_OK ? CODE_CANCELLED : ctl->code;
	if (ctl->keep_failed && (!held || seed_release(ctl, id, s) == 0))
		file_local(ctl, why, id,
		    "it is kept, without all that it was to be given");
	else {
		seed_remove(ctl, id);
		file_local(ctl, why, id,
		    "it is removed, since it did not get all");
	}
	return (-1);
}
