/* What the files of the frontend share. */
#ifndef FRONTEND_H
#define FRONTEND_H

#include <sys/types.h>
#include <sys/queue.h>
#include <sys/tree.h>

#include <stdint.h>

#include <event.h>

#include "imsg.h"
#include "sandboxd.h"

/*
 * Requests that go on for as long as their client likes (attached commands,
 * subscriptions, waits) do not count among those in flight once they have
 * been accepted, else a client could not even end them.  These bound them.
 */
#define CLIENT_LONG_MAX		64
#define UID_LONG_MAX		2048

#define CLIENT_MESSAGE_WAIT	10	/* s for a whole message, or HELLO */
#define CLIENT_READ_WAIT	30	/* s in which it takes no answer */
#define CLIENT_OUT_STOP		(256 * 1024)	/* no requests beyond it */
#define CLIENT_OUT_MAX		(8 * 1024 * 1024) /* the end of the client */
#define UID_OUT_MAX		(64 * 1024 * 1024) /* of all its clients */
#define CLIENT_FDS_MAX		64	/* pipes' ends that it has not taken */
#define UID_FDS_MAX		512
#define CLIENT_CREDITS		16	/* CREDITs ahead of the EVENTs */
#define FRONTEND_STOP_WAIT	3	/* s for the last answers */

/* What a type of request counts as while it is under way. */
enum req_class {
	REQ_SHORT,		/* ends by itself: 8 a client, 32 a uid */
	REQ_CONTROL,		/* steers another one: 8 a client */
	REQ_LONG		/* short until accepted, then bounded apart */
};

struct request {
	TAILQ_ENTRY(request)	 entry;
	uint32_t		 id;
	uint32_t		 type;
	enum req_class		 class;
	int			 is_long;	/* counts among the long ones */
	int			 accepted;	/* no more among the short */
	uint32_t		 expect;	/* bits: outputs it will open */
	uint32_t		 open;		/* bits: STREAM came */
	uint32_t		 done;		/* bits: STREAM_END came */
	int			 failed;	/* never ran: expect is void */
	int			 ended;		/* END is held back */
	struct proto_end	 end;
	uint64_t		 credits;	/* CREDITs taken */
	uint64_t		 events;	/* EVENTs sent */
};
TAILQ_HEAD(requestq, request);

struct uid_stat;

struct client {
	RB_ENTRY(client)	 entry;
	TAILQ_ENTRY(client)	 stalled_entry;
	uint64_t		 session;
	struct uid_stat		*us;
	int			 fd;
	struct imsgbuf		 ibuf;
	struct event		 rev;	/* readable; off while it is stalled */
	struct event		 wev;	/* writable; on while answers wait */
	struct event		 flush;	/* made active by an answer */
	struct event		 tmo;	/* incomplete message */
	struct event		 wtmo;	/* answers not taken */
	int			 held;	/* by the socket, as wtmo began */
	enum { HELLO_NONE, HELLO_SENT, HELLO_DONE } hello;
	uint32_t		 minor;	/* of the protocol that it speaks */
	struct requestq		 reqs;
	unsigned int		 nshort;
	unsigned int		 ncontrol;
	unsigned int		 nlong;
	size_t			 out;		/* bytes of answers, as told */
	unsigned int		 fdqueue;	/* descriptors in the queue */
	unsigned int		 fdsent;	/* sent, maybe not received */
	int			 woken;		/* has one of the uid's places */
	int			 stalled;	/* in the uid's queue */
	int			 broken;	/* its next event closes it */
};

/* All clients of one uid. */
struct uid_stat {
	RB_ENTRY(uid_stat)	 entry;
	uint32_t		 uid;
	unsigned int		 nclients;
	unsigned int		 nshort;
	unsigned int		 nlong;
	unsigned int		 nwoken;	/* have not read yet */
	size_t			 out;	/* of its clients */
	unsigned int		 nfds;	/* of its clients, as counted last */
	TAILQ_HEAD(, client)	 stalled;	/* wait for the uid's bound */
};

/* frontend.c */
extern struct chan	 fe_store;
extern struct chan	 fe_runner;
void		 frontend_drain_store(void);
void		 frontend_drain_runner(void);
void		 frontend_stopped(void);	/* the last client has gone */

/* frontend_client.c */
void		 client_init(void);
void		 client_new(uint64_t session, uint32_t uid, int fd);
struct client	*client_find(uint64_t session);
void		 client_send(struct client *, uint32_t type, uint32_t id,
		    int fd, const void *msg);
void		 client_error(struct client *, uint32_t id, enum code,
		    const char *field, const char *text);
void		 client_counts(struct proto_status_info *);
void		 client_greeted(struct client *);
/* The bounds may allow more now. */
void		 client_resume(struct client *);
void		 client_resume_uid(struct uid_stat *);
/* Politely: after what is queued and in flight; frontend_stopped() tells. */
void		 client_stop_all(void);
void		 client_close_all(void);

/* frontend_req.c: how the client broke the protocol, or NULL. */
const char	*request_recv(struct client *, struct imsg *);
int		 request_bounded(const struct client *);	/* no more */
void		 request_free(struct client *, struct request *);
/* Answers, from the store and the runner. */
int		 request_recv_answer(struct chan *, struct frame *, void *);
int		 request_recv_stream(struct chan *, struct frame *, void *);
int		 request_recv_stream_end(struct chan *, struct frame *, void *);

#endif
