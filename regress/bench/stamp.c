/*
 * Runs in a sandbox: writes the time, so many times, with pauses between.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int
main(int argc, char *argv[])
{
	struct timespec	 ts, wait = { 0, 10000000 };
	uint64_t	 ns;
	int		 n = argc > 1 ? atoi(argv[1]) : 1;

	while (n-- > 0) {
		nanosleep(&wait, NULL);
		clock_gettime(CLOCK_MONOTONIC, &ts);
		ns = (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
		if (write(1, &ns, sizeof(ns)) != sizeof(ns))
			return (1);
	}
	return (0);
}
