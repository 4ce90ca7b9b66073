/*
 * The real frontend in a process of its own; the test is its parent, its
 * store, its runner and its clients.  Each wait has a deadline, at which the
 * test fails.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <sys/types.h>

#include <atf-c.h>

#include "imsg.h"
#include "sandboxd.h"

#define WAIT_MS		60000

/* ROOT_TEST(name, "description"), or without one. */
#define ROOT_TEST(name, ...)						\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
	root_head(tc, "" __VA_ARGS__);					\
}									\
ATF_TC_BODY(name, tc)

void	 root_head(atf_tc_t *, const char *);

struct fe {
	pid_t		 pid;
	struct chan	 main;		/* as the parent */
	struct chan	 store;
	struct chan	 runner;
	uint64_t	 session;	/* last one given */
	char		 last[4096];	/* last line of its log */
};

struct cl {
	struct imsgbuf	 ibuf;
	int		 fd;
	uint64_t	 session;
};

/* 1: sockets from now on hold one small message at most. */
extern int	 fe_small;

/* Started, greeted by the parent, and working. */
void	 fe_start(struct fe *);
/* Asked to stop; the exit status. */
int	 fe_stop(struct fe *);
int	 fe_wait(struct fe *);
/* Waits for a line of its log that has this in it. */
void	 fe_log(struct fe *, const char *);

/* A frame from the frontend, which must have this type; msg may be NULL. */
void	 fe_expect(struct chan *, uint32_t type, struct frame *, void *msg);
void	 fe_send(struct chan *, uint32_t type, uint64_t session, uint32_t req,
	    int fd, const void *msg);
void	 fe_end(struct fe *, uint64_t session, uint32_t req);
void	 fe_stream_end(struct fe *, uint64_t session, uint32_t req,
	    uint32_t stream);
/* Hands a connected socket over; the number of the session. */
uint64_t fe_client(struct fe *, uint32_t uid, int fd);

/* A client that says nothing yet, and one that has been greeted. */
void	 cl_open(struct fe *, struct cl *, uint32_t uid);
void	 cl_greet(struct fe *, struct cl *, uint32_t uid);
void	 cl_close(struct cl *);
void	 cl_send(struct cl *, uint32_t type, uint32_t req, const void *msg);
void	 cl_raw(struct cl *, const void *, size_t);
/* Next answer, which must be of this type and request; its descriptor. */
int	 cl_expect(struct cl *, uint32_t type, uint32_t req, void *msg);
/* The frontend must hang up; what came before is thrown away. */
void	 cl_gone(struct cl *);
/* A ping there and back, through frontend and store. */
void	 cl_ping(struct fe *, struct cl *, uint32_t req);

#endif
