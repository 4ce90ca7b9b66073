/*
 * What the files of the benchmark share.
 *
 *	h_bench.c	arguments, the concerns in their order
 *	rows.c		the table of rows with their goals, and printing
 *	samples.c	times and their percentiles
 *	host.c		the limits: spawn and sync
 *	procs.c		what processes hold and use
 *	client.c	requests of the daemon
 *	engine.c	calls of the Engine
 *	engine_files.c	its archive
 *	exec.c create.c output.c events.c subscribers.c exits.c idle.c restart.c
 *	start.c session.c files.c trees.c tty.c filters.c	a concern each
 */
#ifndef BENCH_H
#define BENCH_H

#include <sys/types.h>

#include "libsandbox.h"

#define DAEMON_MAX	16	/* processes */

#define nelem(a)	(sizeof(a) / sizeof((a)[0]))

struct bench {
	const char	*socket;
	const char	*bare;		/* that of a daemon without filters */
	const char	*engine;	/* path of its socket */
	const char	*ctl;		/* paths of the programs */
	const char	*daemon;
	const char	*conf;		/* of the daemon that start.c starts */
	const char	*state;		/* state directory of the one at socket */
	const char	*stamp;		/* a static program, see stamp.c */
	const char	*filler;	/* h_log.c */
	const char	*scratch;
	int		 n;		/* execs, one at a time */
	int		 many;		/* execs in flight, in fours */
	int		 more;
	int		 creates;
	int		 at_once;	/* of them */
	int		 starts;
	int		 boxes;		/* idle sandboxes */
	int		 subs;		/* idle subscribers */
	int		 running;	/* commands, when one of them ends */
	int		 stream;	/* MiB of output */
	int		 events;	/* execs for the events' rate */
	int		 logged;	/* events at a start */
	int		 large;		/* MiB of a file */
	int		 tree;		/* files of 100 KiB */
	int		 files;		/* of 1 KiB */
	struct sandbox	*conn;
	struct proto_sandbox box;	/* a sandbox for what needs one */
};

extern struct bench	 bench;

/* samples.c: microseconds. */
struct samples {
	double	*us;
	int	 n;
	int	 max;
};

double	 now(void);
void	 sample(struct samples *, double);
double	 at(struct samples *, double);
void	 samples_free(struct samples *);
void	 timed(struct samples *, void (*)(void));
void	 pause_ms(int);

/* rows.c */
enum row_id {
	ROW_SPAWN,
	ROW_SYNC,
	ROW_EXEC,
	ROW_EXEC_99,
	ROW_EXEC_TIMES,
	ROW_CTL,
	ROW_CTL_99,
	ROW_CTL_MORE,
	ROW_ENGINE_EXEC,
	ROW_ENGINE_TIMES,

	ROW_MANY_SPAWN,
	ROW_MANY_RATE,
	ROW_MANY_50,
	ROW_MANY_99,
	ROW_MANY_CTL,
	ROW_MANY_CTL_50,
	ROW_MANY_CTL_99,
	ROW_MANY_ENGINE,
	ROW_MANY_TIMES,

	ROW_MORE_RATE,
	ROW_MORE_50,
	ROW_MORE_99,
	ROW_MORE_CTL,
	ROW_MORE_CTL_50,
	ROW_MORE_CTL_99,
	ROW_MORE_TIMES,

	ROW_CREATE,
	ROW_REMOVE,
	ROW_CREATE_MANY,
	ROW_REMOVE_MANY,
	ROW_ACCEPTED,

	ROW_STREAM,
	ROW_BYTE,
	ROW_BYTE_99,

	ROW_EVENTS,
	ROW_EVENTS_BATCH,
	ROW_EVENTS_RUN,
	ROW_EVENTS_RUN_BATCH,

	ROW_PSS_NONE,
	ROW_PSS,
	ROW_PSS_200,
	ROW_PSS_GUEST,
	ROW_WAKE,
	ROW_WAKE_BOX,
	ROW_WAKE_GUEST,
	ROW_CPU,

	ROW_SUB_CPU_ALL,
	ROW_SUB_CPU,
	ROW_DELIVERY,
	ROW_DELIVERY_99,
	ROW_DELIVERY_ALL,

	ROW_EXIT,
	ROW_EXIT_99,

	ROW_RESTART,
	ROW_RESTART_MAX,
	ROW_BACK,
	ROW_BACK_ALL,

	ROW_START,
	ROW_START_KILLED,

	ROW_SESSION_PING,
	ROW_SESSION_WRITE,
	ROW_SESSION_READ,
	ROW_SESSION_READ_ONE,
	ROW_SESSION_RUN,

	ROW_FILE_WRITE,
	ROW_FILE_WRITE_99,
	ROW_FILE_READ,
	ROW_FILE_READ_99,
	ROW_FILE_CTL,
	ROW_FILE_ENGINE,
	ROW_FILE_TIMES,
	ROW_LARGE_IN,
	ROW_LARGE_IN_ENGINE,
	ROW_LARGE_OUT,
	ROW_LARGE_OUT_ENGINE,
	ROW_GREP,
	ROW_GREP_ENGINE,
	ROW_TREE_OUT,
	ROW_TREE_OUT_ENGINE,
	ROW_TREE_IN,
	ROW_TREE_IN_ENGINE,

	ROW_ECHO,
	ROW_ECHO_99,

	ROW_FILTERS,
	ROW_FILTERS_MANY,
	ROW_MAX
};

void	 title(const char *, ...)
	    __attribute__((__format__(printf, 1, 2)));
/* Limit 0: there is none. */
void	 row(enum row_id, double value, double limit);

/* host.c */
pid_t	 spawn(char *const argv[], int out, int errors);
void	 spawn_to(char *const argv[], int);
void	 spawn_wait(char *const argv[]);
double	 spawn_many(char *const argv[], int flight, int total,
	    struct samples *);
void	 host_spawn(void);
void	 host_sync(void);
extern char *const	 host_true[];

/* client.c */
struct flight {
	char	*const *argv;
	const char	*state;		/* that it must end in */
	int		 conns;
	int		 per;		/* requests in flight on each */
};

void	 client_open(void);
void	 client_lost(const char *) __attribute__((__noreturn__));
struct sandbox *client_new(void);
void	 box_create(struct proto_sandbox *);
void	 box_create_as(struct proto_sandbox *, const char *);
void	 box_create_for(struct proto_sandbox *, int);
double	 box_accepted(void);
void	 box_delete(struct proto_sandbox *);
void	 boxes_create(struct proto_sandbox *, int);
void	 boxes_delete(struct proto_sandbox *, int);
void	 exec_request(struct proto_exec *, char *const argv[]);
void	 exec_one(void);
double	 exec_many(const struct flight *, int, struct samples *);
int	 daemon_pids(pid_t *, int);
pid_t	 daemon_pid(const char *);

/* procs.c: of some processes together. */
struct usage {
	double	 pss;		/* MiB */
	double	 wakes;		/* voluntary switches, by procs_idle a second */
	double	 cpu;		/* us, by procs_idle in a second */
};

int	 proc_gone(pid_t);
void	 procs_usage(struct usage *, const pid_t *, int);
void	 procs_idle(struct usage *, const pid_t *, int, int);

/* engine.c */
int	 engine_call(const char *, const char *, const char *, char **);
void	 engine_exec(const char *);
void	 engine_exec_one(void);
double	 engine_exec_many(int, int);
char	*engine_create_body(void);
void	 engine_create(const char *, char *, size_t);
void	 engine_remove(const char *);
pid_t	 engine_pid(const char *);

/* engine_files.c */
#define BOX_DIR	"/workspace"	/* where the commands of the sandbox begin */
int	 engine_open(const char *);
void	 engine_put(const char *, uint64_t);
void	 engine_get(const char *, uint64_t);

/* subscribers.c */
void	 subscribe(struct sandbox *, const struct proto_sandbox *, int);
double	 delivered(struct sandbox *, const char *);

/* The concerns. */
void	 bench_exec(void);
void	 bench_flight(void);
void	 bench_create(void);
void	 bench_output(void);
void	 bench_events(void);
void	 bench_subscribers(void);
void	 bench_exits(void);
void	 bench_idle(void);
void	 bench_restart(void);
void	 restart_many(const struct proto_sandbox *, int);
void	 bench_start(void);
void	 bench_session(void);
void	 bench_files(void);
void	 bench_trees(void);
void	 bench_tty(void);
void	 bench_filters(void);

#endif
