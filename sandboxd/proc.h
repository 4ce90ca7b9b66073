/*
 * What each child does before it serves: who it is to be comes from the
 * parent as its first message, then it enters its root directory, drops its
 * privileges and confines itself.  The order of a child's main:
 *
 *	log_procinit("store");
 *	proc_recv_ids(PROC_PIPE_FD, &ids);
 *	proc_drop(&ids);
 *	proc_event_init();
 *	proc_signals(store_sig_handler);
 *	sandbox_store();
 *	chan_init(&ch_main, PROC_PIPE_FD, "parent", store_dispatch_main);
 *	proc_log(&ch_main);
 *	event_dispatch();
 *
 * and then PIPE, CONF_BEGIN ... CONF_END come on ch_main, the child answers
 * READY, and works from GO on.
 */
#ifndef PROC_H
#define PROC_H

#include <sys/types.h>

#include <stdint.h>

struct chan;

#define PROC_GROUPS_MAX	4
#define PROC_LOCK_FD	4	/* the lock, which each child keeps open */
#define PROC_PAGE_FD	5	/* where it writes whom it serves */
#define PROC_PAGE_SIZE	4096
#define PROC_NOBODY	UINT64_MAX

struct proc_ids {
	uint32_t	 role;		/* enum role */
	uint32_t	 uid;
	uint32_t	 gid;
	uint32_t	 ngroups;	/* supplementary; the broker has one */
	uint32_t	 groups[PROC_GROUPS_MAX];
	uint32_t	 ppid;		/* the parent; another one: it died */
	uint32_t	 nofile;	/* RLIMIT_NOFILE */
	uint64_t	 memory;	/* RLIMIT_AS */
	uint32_t	 page;		/* 1: PROC_PAGE_FD is there */
	char		 engine[108];	/* the broker: the Engine's socket */
	int		 root;		/* open directory, -1: keeps "/" */
};

/*
 * What confines a process and cannot all be seen from outside; each tells the
 * parent of its own in READY.
 */
struct proc_layers {
	uint32_t	 mask;		/* LAYER_* */
	uint32_t	 landlock;	/* the kernel's version of it */
};

#define LAYER_SECCOMP	0x1		/* the filter of system calls */
#define LAYER_LANDLOCK	0x2
#define LAYER_MDWE	0x4		/* memory-deny-write-execute */

/* proc.c: what fails here is fatal. */
int	proc_send_ids(int, const struct proc_ids *);	/* by the parent */
void	proc_recv_ids(int, struct proc_ids *);
void	proc_drop(const struct proc_ids *);
/* The event loop, for which there is always memory. */
void	proc_event_init(void);
/* TERM, INT and HUP reach the handler of an event; PIPE is ignored. */
void	proc_signals(void (*)(int, short, void *));
/*
 * Whose bytes are handled from now on: the frontend's client by his uid, the
 * runner's guest by its sandbox's number, or PROC_NOBODY's.  Should that be
 * our end, the parent knows over whom.
 */
void	proc_serve(uint64_t who);
/* The number of the call that the filter ends us for, for the parent. */
void	proc_forbidden(int);
/* READY, with the layers in force. */
void	proc_ready(struct chan *);
/* From now on log lines go to the parent as messages. */
void	proc_log(struct chan *);

/* sandbox-linux.c: after the events, before the first byte of a peer. */
void	sandbox_frontend(void);
void	sandbox_store(void);
void	sandbox_broker(const char *engine);
void	sandbox_runner(void);
void	sandbox_emptier(void);		/* emptydir.c's child */
const struct proc_layers *sandbox_layers(void);
/* The parent's own: keeps the capabilities that it needs, by name. */
void	sandbox_parent(void);
/* One more for one act, until sandbox_lower(). */
int	sandbox_raise_admin(void);
int	sandbox_raise_fowner(void);
int	sandbox_raise_ptrace(void);
void	sandbox_lower(void);
int	sandbox_drop(void);		/* all capabilities, for good */
void	sandbox_rlimit(int, uint64_t);

#endif
