/*
 * Builds for tests only: SANDBOXD_BREAK names one thing that a child is to
 * get wrong before it says READY, by the word that the parent's check has for
 * it.  In every other build this is nothing at all.
 */
#ifndef SPOIL_H
#define SPOIL_H

struct chan;
struct proc_ids;

#ifdef FAULTS
int	spoils(const char *);
void	spoil_early(struct proc_ids *);	/* while it is root */
void	spoil_late(void);		/* when it is not, before its layers */
/* And SANDBOXD_PROBE is what it tries at GO; see probe.c. */
void	probe(void);
/*
 * And SANDBOXD_EVIL is an attacker that plays in its place from GO on, with
 * its pipes, the parent's first and NULL behind the last; see regress/evil.
 */
void	evil(struct chan *, ...);
#else
#define spoils(what)		0
#define spoil_early(ids)	((void)0)
#define spoil_late()		((void)0)
#define probe()			((void)0)
#define evil(...)		((void)0)
#endif

#endif
