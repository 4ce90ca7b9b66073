/*
 * The tries of the guest's build for tests, as a command: its source is taken
 * as it is, so that both try the same.
 */
#ifndef FAULTS
#define FAULTS
#endif
#include "../../sandboxd/guest/attempt.c"

int
main(void)
{
	attempts();
	return (0);
}
