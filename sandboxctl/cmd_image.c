/*
 * cmd_image.c: images: image base, image import.
 */

#include <sys/mman.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandboxctl.h"

#define BASE_NAME	"sandbox-base"
#define TAR_NAME	"sandboxctl-tar"

extern char	**environ;

/*
 * The program that makes archives.  It is one of its own since what it links
 * would make every start of this one three times as long.  In a build tree it
 * lies beside us.
 */
const char *
tar_path(char *buf, size_t len)
{
	char	*p;
	ssize_t	 n;

	if ((n = readlink("/proc/self/exe", buf, len - 1)) > 0) {
		buf[n] = '\0';
		if ((p = strrchr(buf, '/')) != NULL) {
			p[1] = '\0';
			if (strlcat(buf, TAR_NAME, len) < len &&
			    access(buf, X_OK) == 0)
				return (buf);
		}
	}
	return (LIBEXECDIR "/" TAR_NAME);
}

/* The archive as a whole, or nothing: half of one must not be imported. */
static int
tar_run(struct ctl *ctl, int fd)
{
	char		 buf[PATH_MAX];
	const char	*path = tar_path(buf, sizeof(buf));
	char		*argv[] = { (char *)(uintptr_t)TAR_NAME,
	    (char *)(uintptr_t)"base", NULL };
	pid_t		 pid;
	int		 status;

	if ((pid = fork()) == -1)
		return (ctl_errno(ctl, "fork"));
	if (pid == 0) {
		if (dup2(fd, STDOUT_FILENO) == -1)
			_exit(EXIT_OURS);
		execve(path, argv, environ);
		fprintf(stderr, "sandboxctl: %s: %s\n", path, strerror(errno));
		_exit(EXIT_OURS);
	}
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return (ctl_errno(ctl, "wait"));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return (ctl_error_code(ctl, CODE_INTERNAL, "",
		    TAR_NAME " failed"));
	return (0);
}

static int
import(struct ctl *ctl, const char *name, int fd)
{
	struct proto_image	 img;

	memset(&img, 0, sizeof(img));
	if (sandbox_image_import(ctl->conn, name, fd, &img) == -1)
		return (ctl_error(ctl));
	if (ctl->json)
		json_proto(stdout, PROTO_IMAGE, &img);
	else {
		out_text(stdout, img.name);
		printf(" ");
		out_text(stdout, img.id);
		printf("\n");
	}
	return (0);
}

int
cmd_image_base(struct ctl *ctl)
{
	int	 fd, status;

	if ((fd = memfd_create(TAR_NAME, MFD_CLOEXEC)) == -1)
		return (ctl_errno(ctl, "memory file"));
	if ((status = tar_run(ctl, fd)) == 0) {
		if (lseek(fd, 0, SEEK_SET) == -1)
			status = ctl_errno(ctl, "memory file");
		else
			status = import(ctl, BASE_NAME, fd);
	}
	close(fd);
	return (status);
}

/* A file, or standard input for "-". */
int
cmd_image_import(struct ctl *ctl)
{
	const char	*file = ctl->argv[1];
	int		 fd, status;

	if (strcmp(file, "-") == 0)
		return (import(ctl, ctl->argv[0], STDIN_FILENO));
	if ((fd = open(file, O_RDONLY | O_CLOEXEC)) == -1)
		return (ctl_errno(ctl, file));
	status = import(ctl, ctl->argv[0], fd);
	close(fd);
	return (status);
}
