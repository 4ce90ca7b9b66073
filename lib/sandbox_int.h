/* What the files of libsandbox share; no program includes this. */
#ifndef SANDBOX_INT_H
#define SANDBOX_INT_H

#include <sys/queue.h>

#include "imsg.h"
#include "libsandbox.h"

/* An answer that came while another was waited for. */
struct held {
	TAILQ_ENTRY(held)	 entry;
	struct sandbox_answer	 a;
};

struct sandbox {
	int			 fd;	/* non-blocking; -1: lost */
	struct imsgbuf		 ibuf;
	char			*path;
	char			 client[64];	/* as in HELLO */
	uint32_t		 nextreq;
	struct proto_hello_ok	 hello;
	int			 plain;	/* HELLO of 1.0 */
	uint32_t		 greeting;	/* HELLO's number, 0: greeted */
	struct sandbox_error	 err;
	TAILQ_HEAD(, held)	 held;
};

int	 sandbox_fail(struct sandbox *, enum code, const char *, ...)
	    __attribute__((__format__(printf, 3, 4)));
/* The same, and the connection is closed. */
int	 sandbox_lost(struct sandbox *, enum code, const char *, ...)
	    __attribute__((__format__(printf, 3, 4)));
/* Closed, and the error that it has says so. */
void	 sandbox_hang_up(struct sandbox *);
int64_t	 sandbox_now(void);	/* ms, of a clock that nobody sets */
/* Next answer to one request; the others' are held. */
int	 sandbox_recv_req(struct sandbox *, uint32_t, struct sandbox_answer *,
	    int);
/* write(2) to a pipe without SIGPIPE: EPIPE alone tells of its end. */
ssize_t	 sandbox_write(int, const void *, size_t);

#endif
