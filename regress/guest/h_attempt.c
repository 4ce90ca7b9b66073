/*
 * The tries of the guest's build for tests, as a command: its source is taken
 * as it is, so that both try the same.
 */
#ifndef FAULTS
#define FAULTS
#endif
#include "../../sandboxd/guest/attempt.c"

#ifdef ASAN
/*
 * Its leak check traces the process, which the guest lets nobody do; and its
 * handlers are not what a command begins with.
 */
const char	*__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return ("detect_leaks=0:handle_segv=0:handle_sigbus=0:"
	    "handle_sigfpe=0");
}
#endif

int
main(void)
{
	attempts();
	return (0);
}
