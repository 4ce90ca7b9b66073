/*
 * Fault points: places at which a build for tests (-DFAULTS) dies on demand.
 * SANDBOXD_FAULT=name:n in the environment kills the process with SIGKILL
 * when it passes the point for the n-th time (n followed by an s: SIGSEGV, as
 * a crash).  In every other build a point
 * is nothing at all.
 *
 * Names are "process.step.before" or "process.step.after".
 *
 * SANDBOXD_SNDBUF=bytes is the size of the buffers between the processes; the
 * kernel makes the least of it, which holds a small frame.  SIGUSR2 with a
 * number makes a process write something to its peer that is no frame for
 * it: the number is 2 * the peer in the order of fault.c, and 1 more for one
 * of an impossible length.
 */
#ifndef FAULT_H
#define FAULT_H

#ifdef FAULTS
void	fault_point(const char *);
void	fault_pipe(int, const char *);
#define fault(name)	fault_point(name)
#else
#define fault_pipe(fd, peer)	((void)0)
#define fault(name)	((void)0)
#endif

#endif
