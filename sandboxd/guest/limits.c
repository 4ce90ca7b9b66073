/*
 * What limits hold here, as the guest itself reads them from its control
 * group: what an Engine stores and what the kernel enforces are two things.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define CG	"/sys/fs/cgroup/"

/* Version 1 tells "none" by a number just below 2^63. */
#define V1_NONE	(1ULL << 60)

static int
slurp(const char *path, char *buf, size_t size)
{
	ssize_t	 n;
	int	 fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return (-1);
	n = read(fd, buf, size - 1);
	close(fd);
	if (n <= 0)
		return (-1);
	buf[n] = '\0';
	return (0);
}

/* A number, "max" or -1 for none; *end is what follows. */
static uint64_t
number(const char *s, char **end)
{
	uint64_t	 v;

	if (strncmp(s, "max", 3) == 0 || *s == '-') {
		*end = (char *)s + strcspn(s, " \n");
		return (GP_UNLIMITED);
	}
	v = strtoull(s, end, 10);
	if (*end == s)
		return (GP_UNKNOWN);
	return (v >= V1_NONE ? GP_UNLIMITED : v);
}

static uint64_t
number_file(const char *path)
{
	char	 buf[64], *end;

	if (slurp(path, buf, sizeof(buf)) == -1)
		return (GP_UNKNOWN);
	return (number(buf, &end));
}

static uint64_t
first_known(const char *one, const char *two)
{
	uint64_t	 v;

	if ((v = number_file(one)) == GP_UNKNOWN && two != NULL)
		v = number_file(two);
	return (v);
}

static uint64_t
limit_swap(uint64_t memory)
{
	uint64_t	 v;

	if ((v = number_file(CG "memory.swap.max")) != GP_UNKNOWN)
		return (v);
	v = number_file(CG "memory/memory.memsw.limit_in_bytes");
	if (v >= GP_UNLIMITED || memory >= GP_UNLIMITED)
		return (v);
	return (v > memory ? v - memory : 0);
}

static uint64_t
limit_mcpus(void)
{
	char		 buf[64], *end;
	uint64_t	 quota, period;

	if (slurp(CG "cpu.max", buf, sizeof(buf)) == 0) {
		quota = number(buf, &end);
		period = number(end + (*end == ' '), &end);
	} else {
		quota = first_known(CG "cpu/cpu.cfs_quota_us",
		    CG "cpu,cpuacct/cpu.cfs_quota_us");
		period = first_known(CG "cpu/cpu.cfs_period_us",
		    CG "cpu,cpuacct/cpu.cfs_period_us");
	}
	if (quota >= GP_UNLIMITED)
		return (quota);
	if (period == 0 || period >= GP_UNLIMITED)
		return (GP_UNKNOWN);
	return (quota * 1000 / period);
}

void
limits_read(struct gp_hello *h)
{
	h->memory = first_known(CG "memory.max",
	    CG "memory/memory.limit_in_bytes");
	h->swap = limit_swap(h->memory);
	h->pids = first_known(CG "pids.max", CG "pids/pids.max");
	h->mcpus = limit_mcpus();
}

/*
 * How many processes of this sandbox the kernel has killed because its memory
 * was used up; 0 where it does not tell.  It counts before it kills.
 */
uint64_t
limits_oom(void)
{
	static int	 fd = -2;
	char		 buf[512], *p, *end;
	ssize_t		 n;

	if (fd == -2 &&
	    (fd = open(CG "memory.events", O_RDONLY | O_CLOEXEC)) == -1)
		fd = open(CG "memory/memory.oom_control",
		    O_RDONLY | O_CLOEXEC);
	if (fd == -1 || (n = pread(fd, buf, sizeof(buf) - 1, 0)) <= 0)
		return (0);
	buf[n] = '\0';
	if ((p = strstr(buf, "oom_kill ")) == NULL)
		return (0);
	return (strtoull(p + strlen("oom_kill "), &end, 10));
}
