/*
 * Attackers in the place of a process.  A build for tests has them in it: the
 * process that SANDBOXD_EVIL names goes through all that the real one does
 * before it works, its user, its root, its filters, the parent's look at it,
 * and at GO plays a script instead of working.
 *
 *	SANDBOXD_EVIL=store:orders+deaf	what the first set plays, then the next;
 *					no more than SANDBOXD_FAULT_SETS do
 *	SANDBOXD_EVIL_ARG=key=value,...	what the scripts want to know
 *
 * In the first set it waits for HUP.  One that has played stays, and answers
 * the parent alone.
 */
#ifndef EVIL_H
#define EVIL_H

#include "sandboxd.h"
#include "evil_msg.h"

struct evil_peer {
	struct chan	*ch;
	const char	*name;
	int		 gone;
};

struct evil_session {
	uint64_t	 number;
	uint32_t	 uid;
	int		 fd;		/* the client's socket */
};

/* Each frame but the parent's BEAT; it may take the descriptor. */
extern void		(*evil_heard)(struct evil_peer *, struct frame *);
/* What clients the parent has sent. */
extern struct evil_session	 evil_sessions[64];
extern size_t			 evil_nsessions;
extern uint64_t			 evil_sent;	/* messages */

const char	*evil_arg(const char *key);	/* "" if it is not there */
uint64_t	 evil_number(const char *key);	/* or 0 */
struct evil_peer *evil_peer(const char *name);
unsigned int	 evil_set_number_now(void);	/* which set this is */

/* The header as it is given; the descriptor is closed when it is sent. */
void	 evil_send(struct evil_peer *, uint32_t type, uint64_t op,
	    uint64_t session, uint32_t req, int fd, const msgpack_sbuffer *);
/* The same with no field of the message set but those of evil_set(). */
void	 evil_plain(struct evil_peer *, uint32_t type, uint64_t op,
	    uint64_t session, uint32_t req);
/* Bytes that are no frame. */
void	 evil_raw(struct evil_peer *, const void *, size_t);
/* One more of what it has, to be attached. */
int	 evil_fd(void);
/* Hears whoever speaks, for at most so long; -1: until somebody does. */
void	 evil_listen(int ms);
/* Until all is sent that was to be; meanwhile nobody is heard. */
void	 evil_deaf(int);

/* evil_siblings.c */
void	 play_orders(void);
void	 play_history(void);
void	 play_ends(void);
void	 play_bad(void);
void	 play_streams(void);
void	 play_nocall(void);
void	 play_nodone(void);

/* evil_mounts.c */
void	 play_mounts(void);
void	 play_mount(void);

/* evil_works.c */
void	 play_works(void);
void	 play_workuser(void);
void	 play_workdisk(void);
void	 play_work(void);

/* evil_play.c */
/*
 * One form of a field of a message, each third with a descriptor; 0 if there
 * is none of that number.
 */
int	 evil_send_form(struct evil_peer *, uint32_t type, enum evil_form,
	    size_t field, unsigned int n, uint64_t op, uint64_t session,
	    uint32_t req);
size_t	 evil_field(uint32_t type, const char *name);
struct evil_script {
	const char	*role;
	const char	*name;
	void		(*play)(void);
};
extern const struct evil_script	 evil_scripts[];

#endif
