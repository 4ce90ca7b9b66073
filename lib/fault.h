/*
 * Fault points: places at which a build for tests (-DFAULTS) dies on demand.
 * SANDBOXD_FAULT=name:n in the environment kills the process with SIGKILL
 * when it passes the point for the n-th time (n followed by an s: SIGSEGV, as
 * a crash).  In every other build a point
 * is nothing at all.
 *
 * Names are "process.step.before" or "process.step.after".
 */
#ifndef FAULT_H
#define FAULT_H

#ifdef FAULTS
void	fault_point(const char *);
#define fault(name)	fault_point(name)
#else
#define fault(name)	((void)0)
#endif

#endif
