/*
 * Frames on a socketpair between two children: a fixed header and a payload,
 * with at most one descriptor.  Everything is sent by one writer in order.
 *
 * Sending queues; what has queued leaves together once the running event
 * handler has returned, so that a burst costs one system call.
 */
#ifndef CHAN_H
#define CHAN_H

#include <sys/queue.h>
#include <sys/types.h>

#include <stdint.h>

#include <event.h>

struct frame {
	uint32_t	 type;
	uint32_t	 req;		/* client's request number, or 0 */
	uint64_t	 session;	/* client's session, or 0 */
	uint64_t	 op;		/* operation number, or 0 */
	int		 fd;		/* -1 if none; the receiver's to close */
	const uint8_t	*data;		/* valid until chan_frame_free() */
	size_t		 len;
};

struct chan_out;
TAILQ_HEAD(chan_outq, chan_out);

struct chan {
	const char	*peer;		/* for log lines */
	int		 fd;
	struct event	 ev;		/* readable */
	struct event	 wev;		/* writable: only when blocked */
	struct event	 flush;		/* made active by chan_send() */
	void		(*cb)(int, short, void *);
	struct chan_outq out;
	size_t		 queued;	/* bytes not yet sent */
	uint64_t	 nqueued;	/* frames ever queued */
	uint64_t	 nsent;		/* frames wholly sent */
	size_t		 maxqueued;	/* bound; 0: none */
	size_t		 pause;		/* with more queued nothing is taken */
	int		 paused;	/* until all of it has left; 0: never */
	uint8_t		*rbuf;
	size_t		 rsize, rlen, roff;
	int		 fds[64];	/* received, not yet given out */
	size_t		 nfds;
	int		 broken;	/* write failed; the reader will tell */
};

/*
 * Takes over fd, makes it non-blocking, and calls cb(fd, EV_READ, chan) when
 * there is something to read.  With cb NULL no event is used: the caller
 * reads and writes by hand (before a loop runs).
 */
void	 chan_init(struct chan *, int fd, const char *peer,
	    void (*cb)(int, short, void *));
void	 chan_clear(struct chan *);		/* closes what it holds */

/* Reads once: 1 if bytes came or none were there, 0 at the end, -1 error. */
int	 chan_read(struct chan *);
/* Next whole frame: 1, 0 if there is none yet, -1 if it is malformed. */
int	 chan_get(struct chan *, struct frame *);
/* Closes the frame's descriptor unless the receiver has set it to -1. */
void	 chan_frame_free(struct frame *);

/*
 * Queues a frame; fd (or -1) is closed once it is sent, or on failure.
 * -1 with errno EMSGSIZE (payload too long), ENOBUFS (bound of the queue
 * passed) or ENOMEM.
 */
int	 chan_send(struct chan *, uint32_t type, uint64_t op,
	    uint64_t session, uint32_t req, int fd, const void *data,
	    size_t len);
/* Sends what it can now: 0, or -1 with errno (EPIPE: the peer is gone). */
int	 chan_flush(struct chan *);
/* Blocks until all is sent (start and stop only). */
int	 chan_flush_wait(struct chan *);
/* Blocks until a frame is there (start only): as chan_get, 0 at the end. */
int	 chan_get_wait(struct chan *, struct frame *);
/* Has the frame that was the n-th queued (chan.nqueued then) left? */
int	 chan_sent(const struct chan *, uint64_t n);

#endif
