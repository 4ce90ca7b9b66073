/*
 * Times, and what they amount to.
 */
#include <err.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"

double
now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec * 1e6 + ts.tv_nsec / 1e3);
}

void
pause_ms(int ms)
{
	struct timespec	 ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

void
sample(struct samples *s, double us)
{
	if (s->n == s->max) {
		s->max = s->max == 0 ? 64 : 2 * s->max;
		if ((s->us = reallocarray(s->us, s->max,
		    sizeof(*s->us))) == NULL)
			err(1, NULL);
	}
	s->us[s->n++] = us;
}

static int
compare(const void *a, const void *b)
{
	double	 x = *(const double *)a, y = *(const double *)b;

	return ((x > y) - (x < y));
}

/* The value below which the share p of the samples lies. */
double
at(struct samples *s, double p)
{
	if (s->n == 0)
		errx(1, "nothing was measured");
	qsort(s->us, s->n, sizeof(*s->us), compare);
	return (s->us[(int)(p * (s->n - 1))]);
}

void
samples_free(struct samples *s)
{
	free(s->us);
	s->us = NULL;
	s->n = s->max = 0;
}

void
timed(struct samples *s, void (*what)(void))
{
	double	 start = now();

	what();
	sample(s, now() - start);
}
