/* h_nonsense pid number: SIGUSR2 with the number, see lib/fault.h */

#include <err.h>
#include <signal.h>
#include <stdlib.h>

int
main(int argc, char *argv[])
{
	union sigval	 v;

	if (argc != 3)
		errx(1, "usage: h_nonsense pid number");
	v.sival_int = atoi(argv[2]);
	if (sigqueue(atoi(argv[1]), SIGUSR2, v) == -1)
		err(1, "sigqueue");
	return (0);
}
