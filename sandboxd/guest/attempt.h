/* Builds for tests only: see attempt.c. */

#ifndef ATTEMPT_H
#define ATTEMPT_H

void	 attempts(void);

#endif /* ATTEMPT_H */
