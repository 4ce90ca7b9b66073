/*
 * A runner for tests of the guest: a guest of its own as PID 1 of a new
 * namespace, as a user of its own, and a table of execs which keeps what comes.
 */

#ifndef HARNESS_H
#define HARNESS_H

#include <sys/types.h>

#include <atf-c.h>
#include <stdint.h>

#include "gproto.h"

#define JOBS	1200

#define ROOT_TC(name, text)						\
	ATF_TC(name);							\
	ATF_TC_HEAD(name, tc)						\
	{								\
		atf_tc_set_md_var(tc, "descr", text);			\
		atf_tc_set_md_var(tc, "require.user", "root");		\
	}								\
	ATF_TC_BODY(name, tc)

struct buf {
	uint8_t		*data;
	size_t		 len;
	size_t		 size;
};

/* An exec as the runner sees it. */
struct job {
	int			 known;		/* STATE of RESUME or START */
	int			 started;
	int			 not_started;
	int			 ended;
	int			 nexits;
	int			 hold;		/* withholds acknowledgements */
	struct gp_state		 state;
	struct gp_started	 st;
	struct gp_not_started	 ns;
	struct gp_exit		 ex;
	struct gp_background	 bg;
	int			 nbg;
	int			 nchanged;
	struct gp_changed	 changed;	/* its text is why, and */
	char			 why[CALL_TEXT_MAX + 1];
	struct buf		 list;		/* its list lines */
	struct buf		 out[2];
	uint64_t		 acked[2];
	uint64_t		 in_acked;
	uint32_t		 in_flags;
};

struct rig {
	char			 dir[64];	/* of all that it makes */
	char			 run[80];	/* the socket's */
	char			 work[80];	/* the guest's cwd, its user's */
	uid_t			 uid;
	pid_t			 pid;		/* of PID 1, seen from here */
	int			 nproc;		/* RLIMIT_NPROC, 0 none */
	int			 nofile;	/* RLIMIT_NOFILE, 0 as it is */
	int			 ptys;		/* at most; 0: the host's */
	int			 caps;		/* keeps them, and may gain some */
	const char		*guest;		/* the program, NULL the usual */
	const char		*faults;	/* SANDBOXD_FAULT, or NULL */
	int			 lfd;
	int			 fd;
	uint8_t			*rbuf;
	size_t			 rlen;
	struct gp_hello		 hello;
	struct gp_state		 states[GP_MAX_EXECS];
	uint64_t		 states_k[GP_MAX_EXECS];
	int			 nstates;
	int			 welcomed;
	int			 pongs;
	int			 bye;
	int			 eof;
	struct job		 jobs[JOBS];
};

struct rig *rig_new(void);
void	 rig_boot(struct rig *);		/* guest, listener, welcome */
void	 rig_guest(struct rig *);		/* the guest alone */
void	 rig_listen(struct rig *);
void	 rig_accept(struct rig *);		/* up to HELLO */
void	 rig_welcome(struct rig *);		/* up to STATES_END */
void	 rig_cut(struct rig *);			/* drop the connection */
void	 rig_again(struct rig *);		/* cut, listen, accept, welcome */
void	 rig_end(struct rig *);			/* the guest dies */
int	 rig_wait_guest(struct rig *);		/* its wait status */
int	 rig_procs(const struct rig *);		/* neither guest nor reaper */
void	 rig_wait_procs(const struct rig *, int);

/* One frame, or end of file; 0 if none came within the milliseconds. */
int	 rig_pump(struct rig *, int);
/* Frames until the flag is up; a test that waits a minute has failed. */
void	 rig_until_at(struct rig *, const int *, int);
#define rig_until(r, flag)	rig_until_at(r, flag, __LINE__)
double	 rig_now(void);

void	 rig_send(struct rig *, const void *, ssize_t);
/* Patterns for what is started next. */
extern const char	*rig_scope;
void	 rig_start_v(struct rig *, uint64_t, uint32_t, uint32_t, uint32_t,
	    const char *, char *const *, char *const *);
/* START of sh -c command; flags, timeout, grace. */
void	 rig_sh(struct rig *, uint64_t, uint32_t, uint32_t, uint32_t,
	    const char *);
/* The same, waits for the end and forgets it. */
struct job *rig_run(struct rig *, uint64_t, const char *);
void	 rig_resume(struct rig *, uint64_t);
void	 rig_ack(struct rig *, uint64_t, int);
size_t	 rig_input(struct rig *, uint64_t, const uint8_t *, size_t, uint64_t);
void	 rig_input_end(struct rig *, uint64_t, uint64_t);
void	 rig_signal(struct rig *, uint64_t, int, uint32_t);
void	 rig_resize(struct rig *, uint64_t, uint32_t, uint32_t);
void	 rig_cancel(struct rig *, uint64_t, uint32_t);
void	 rig_forget(struct rig *, uint64_t);
void	 rig_stop(struct rig *, uint32_t);
void	 rig_ping(struct rig *);
/* Pings and waits: what was sent before has been dealt with. */
void	 rig_sync(struct rig *);

int	 buf_is(const struct buf *, const char *);
void	 file_put(const struct rig *, const char *, const char *, mode_t);

#endif /* HARNESS_H */
