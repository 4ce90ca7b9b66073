/*
 * Descriptors that a stranger attaches to what it sends.
 *
 * Nobody here takes one.  But where the kernel throws them away, it does so
 * in the name of who reads or closes, and the last reference to a socket that
 * lingers is not given up before its sender's time is over.
 */
#ifndef RIGHTS_H
#define RIGHTS_H

/* Those who connect to this listener cannot send any, if Linux knows how. */
void	 rights_refuse(int);

/*
 * Around a read from, or the close of, such a socket: what does not let go
 * is interrupted.  rights_end() says whether that was so.
 */
void	 rights_begin(int);
int	 rights_end(void);

/* close(2) within the two. */
void	 rights_close(int);

#endif
