/*
 * The names of a tree that a pattern matches, in order, relative to the
 * directory that was searched.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "tool.h"

static int
glob_is_file(const struct walk_entry *e)
{
	struct stat	 st;

	if (e->type == DT_REG)
		return (1);
	return (e->type == DT_LNK &&
	    fstatat(e->dirfd, e->name, &st, 0) == 0 && S_ISREG(st.st_mode));
}

/* fd is the directory, and stays the caller's. */
int
tool_glob(int fd, const struct glob_req *req, struct glob_res *res,
    glob_found *found, void *arg)
{
	struct walk_entry	 e;
	struct walk		*w;
	struct glob		 g;
	uint64_t		 deadline = tool_ms() + req->ms;
	int			 error, late = 0;

	*res = (struct glob_res){ 0 };
	if ((error = glob_compile(&g, req->pattern, req->flags)) != 0)
		return (error);
	if ((w = walk_open(fd, req->ms)) == NULL) {
		glob_free(&g);
		return (ENOMEM);
	}
	while (!late && walk_next(w, &e)) {
		/* A pattern can cost more than the walk. */
		late = tool_ms() >= deadline;
		if (e.type == DT_DIR && !glob_below(&g, e.path))
			walk_skip(w);
		if (!glob_match(&g, e.path, e.type == DT_DIR) ||
		    ((req->flags & GLOB_FILES) && !glob_is_file(&e)))
			continue;
		if (res->count == req->max) {
			res->more = 1;
			break;
		}
		res->count++;
		if (found(arg, &e) != 0) {
			error = ECANCELED;
			break;
		}
	}
	res->left = walk_left(w) | (late ? WALK_L_TIME : 0);
	walk_close(w);
	glob_free(&g);
	return (error);
}
