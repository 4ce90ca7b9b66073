/*
 * tar.c: sandboxctl-tar, the part of sandboxctl that makes archives.
 *
 *	sandboxctl-tar base [busybox]
 *
 * writes the root file system of the built-in image to standard output: a
 * static busybox, a link for each of its applets, and what programs expect
 * to find.  Trees that go into a sandbox and come out of it are tar_tree.c's.
 */

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "patch.h"
#include "tar.h"

#define BUSYBOX		"/bin/busybox"
#define LIST_MAX	65536		/* the names of all applets */

static struct archive	*out;

/* Always the same bytes, so that the image's number tells its content. */
static void
put(const char *path, mode_t type, mode_t mode, const char *link,
    const void *data, size_t len)
{
	struct archive_entry	*e;

	if ((e = archive_entry_new()) == NULL)
		err(1, NULL);
	archive_entry_set_pathname(e, path);
	archive_entry_set_filetype(e, type);
	archive_entry_set_perm(e, mode);
	archive_entry_set_uid(e, 0);
	archive_entry_set_gid(e, 0);
	archive_entry_set_uname(e, "root");
	archive_entry_set_gname(e, "root");
	archive_entry_set_mtime(e, 0, 0);
	if (link != NULL)
		archive_entry_set_symlink(e, link);
	archive_entry_set_size(e, len);
	if (archive_write_header(out, e) != ARCHIVE_OK)
		errx(1, "%s: %s", path, archive_error_string(out));
	if (len > 0 && archive_write_data(out, data, len) != (ssize_t)len)
		errx(1, "%s: %s", path, archive_error_string(out));
	archive_entry_free(e);
}

static void
put_text(const char *path, const char *text)
{
	put(path, AE_IFREG, 0644, NULL, text, strlen(text));
}

/* A shared library would not be there: only a static program will do. */
static void
check_static(const char *path, const void *data, size_t len)
{
	Elf64_Ehdr	 eh;
	Elf64_Phdr	 ph;
	size_t		 i;

	if (len < sizeof(eh))
		errx(1, "%s: not a program", path);
	memcpy(&eh, data, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		errx(1, "%s: not a program", path);
	/* The tables of 32-bit programs are others: those are not looked at. */
	if (eh.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	for (i = 0; i < eh.e_phnum; i++) {
		if (eh.e_phentsize < sizeof(ph) || eh.e_phoff > len ||
		    len - eh.e_phoff < (i + 1) * eh.e_phentsize)
			errx(1, "%s: damaged", path);
		memcpy(&ph, (const char *)data + eh.e_phoff +
		    i * eh.e_phentsize, sizeof(ph));
		if (ph.p_type == PT_INTERP)
			errx(1, "%s: not a static program: install "
			    "busybox-static", path);
	}
}

static void *
map(const char *path, size_t *len)
{
	struct stat	 st;
	void		*p;
	int		 fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1) {
		if (errno == ENOENT)
			errx(1, "%s: missing: install busybox-static", path);
		err(1, "%s", path);
	}
	if (fstat(fd, &st) == -1)
		err(1, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		errx(1, "%s: not a program", path);
	*len = st.st_size;
	if ((p = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0)) ==
	    MAP_FAILED)
		err(1, "%s", path);
	close(fd);
	return (p);
}

/* "bin/sh" and so on, a line each: busybox itself knows where they belong. */
static char *
applets(const char *path)
{
	static char	 list[LIST_MAX];
	size_t		 len = 0;
	ssize_t		 n = 0;
	pid_t		 pid;
	int		 fd[2], status;

	if (pipe2(fd, O_CLOEXEC) == -1)
		err(1, "pipe");
	if ((pid = fork()) == -1)
		err(1, "fork");
	if (pid == 0) {
		if (dup2(fd[1], STDOUT_FILENO) == -1)
			_exit(1);
		execl(path, "busybox", "--list-full", (char *)NULL);
		_exit(1);
	}
	close(fd[1]);
	while (len < sizeof(list) - 1) {
		n = read(fd[0], list + len, sizeof(list) - 1 - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += n;
	}
	close(fd[0]);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			err(1, "wait");
	if (n == -1 || len == 0 || len == sizeof(list) - 1 || status != 0)
		errx(1, "%s: cannot list its applets", path);
	return (list);
}

static void
put_applets(char *list)
{
	char	*name, *last;

	for (name = strtok_r(list, "\n", &last); name != NULL;
	    name = strtok_r(NULL, "\n", &last)) {
		if (*name == '/' || strstr(name, "..") != NULL ||
		    strcmp(name, "bin/busybox") == 0)
			continue;
		put(name, AE_IFLNK, 0777, "/bin/busybox", NULL, 0);
	}
}

static void
base(const char *path)
{
	static const struct {
		const char	*path;
		mode_t		 mode;
	} dirs[] = {
		{ "bin", 0755 }, { "dev", 0755 }, { "etc", 0755 },
		{ "home", 0755 }, { "proc", 0555 }, { "root", 0700 },
		{ "run", 0755 }, { "sbin", 0755 }, { "sys", 0555 },
		{ "tmp", 01777 }, { "usr", 0755 }, { "usr/bin", 0755 },
		{ "usr/sbin", 0755 }, { "var", 0755 }, { "var/tmp", 01777 },
		{ "workspace", 0755 },
	};
	size_t	 len, i;
	void	*data;
	char	*list;

	data = map(path, &len);
	check_static(path, data, len);
	list = applets(path);
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		put(dirs[i].path, AE_IFDIR, dirs[i].mode, NULL, NULL, 0);
	put("bin/busybox", AE_IFREG, 0755, NULL, data, len);
	put_applets(list);
	put_text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
	    "nobody:x:65534:65534:nobody:/:/bin/false\n");
	put_text("etc/group", "root:x:0:\nnogroup:x:65534:\n");
	put_text("etc/shells", "/bin/sh\n");
}

static int
image(const char *path)
{
	if ((out = archive_write_new()) == NULL)
		err(1, NULL);
	if (archive_write_set_format_ustar(out) != ARCHIVE_OK ||
	    archive_write_open_fd(out, STDOUT_FILENO) != ARCHIVE_OK)
		errx(1, "%s", archive_error_string(out));
	base(path);
	if (archive_write_close(out) != ARCHIVE_OK)
		errx(1, "%s", archive_error_string(out));
	archive_write_free(out);
	return (0);
}

int
main(int argc, char *argv[])
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		err(1, "no_new_privs");
	if ((argc == 2 || argc == 3) && strcmp(argv[1], "base") == 0)
		return (image(argc == 3 ? argv[2] : BUSYBOX));
	if ((argc == 5 || argc == 6) && strcmp(argv[1], "pack") == 0)
		return (tar_pack(argv[2], argv[3], argv[4], argc == 6 ?
		    argv[5] : ""));
	if (argc == 5 && strcmp(argv[1], "unpack") == 0)
		return (tar_unpack(argv[2], argv[3], argv[4]));
	if (argc == 3 && strcmp(argv[1], "patch") == 0)
		return (tar_patch(argv[2]));
	fprintf(stderr, "usage: sandboxctl-tar base [busybox]\n");
	return (1);
}
