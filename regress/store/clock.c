/* Clocks that a test sets. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atf-c.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define BOOTED	(10 * CLOCK_S)	/* the kernel's clock after clock_boot() */

/* In memory that the store has too. */
static struct clocks {
	int64_t	 wall;
	int64_t	 passed;
	int64_t	 mono;
	int64_t	 began;
} *clocks;

static int64_t
real(clockid_t id)
{
	struct timespec	 ts;

	ATF_REQUIRE(syscall(SYS_clock_gettime, id, &ts) == 0);
	return (ts.tv_sec * CLOCK_S + ts.tv_nsec);
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t	 ns;

	if (syscall(SYS_clock_gettime, id, ts) != 0)
		return (-1);
	if (clocks == NULL)
		return (0);
	ns = ts->tv_sec * CLOCK_S + ts->tv_nsec;
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		ns += clocks->wall + clocks->passed;
		break;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_BOOTTIME:
		ns += clocks->mono + clocks->passed;
		break;
	}
	ts->tv_sec = ns / CLOCK_S;
	ts->tv_nsec = ns % CLOCK_S;
	return (0);
}

void
clock_make(void)
{
	clocks = mmap(NULL, sizeof(*clocks), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ATF_REQUIRE(clocks != MAP_FAILED);
	clocks->began = real(CLOCK_MONOTONIC);
}

void
clock_wall(int64_t ns)
{
	clocks->wall = ns;
}

void
clock_pass(int64_t ns)
{
	clocks->passed += ns;
}

void
clock_boot(void)
{
	clocks->mono = BOOTED - real(CLOCK_MONOTONIC) - clocks->passed;
}

uint64_t
clock_passed(void)
{
	return ((real(CLOCK_MONOTONIC) - clocks->began + clocks->passed) /
	    1000000);
}
