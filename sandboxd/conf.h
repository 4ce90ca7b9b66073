/*
 * The configuration: what parse.y makes of sandboxd.conf(5), what the parent
 * keeps, and from which it tells each child its part.  Only the parent reads
 * the file; nothing of it is ever taken from a child or a client.
 */

#ifndef CONF_H
#define CONF_H

#include <sys/types.h>
#include <sys/queue.h>

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "bounds.h"
#include "quota.h"
#include "rules.h"

#ifndef nitems
#define nitems(a)		(sizeof(a) / sizeof((a)[0]))
#endif

#define CONF_FILE		"/etc/sandboxd.conf"
#define CONF_STATE		"/var/lib/sandboxd"
#define CONF_SOCKET		"/run/sandboxd/sandboxd.sock"
#define CONF_ENGINE		"unix:///var/run/docker.sock"
#ifndef CONF_GUEST
#define CONF_GUEST		"/usr/local/libexec/sandbox-guest"
#endif

#define CONF_FILE_MAX		(1024 * 1024)	/* of one file */
#define CONF_INCLUDE_MAX	8		/* files within files */
#define CONF_SOURCES_MAX	256		/* files in all */
#define CONF_ERRORS_MAX		(16 * 1024)	/* text of all errors */
#define CONF_NAME_MAX		64		/* a user, a group */
#define CONF_PATH_MAX		1024
#define CONF_RULES_MAX		256		/* image patterns, rules */
#define CONF_PLACES_MAX		1024		/* lines that are named */

/* Below this a uid may belong to the host, whatever passwd(5) says today. */
#define CONF_UID_LEAST		10000U
#define CONF_UID_MIN		2000000000U
#define CONF_UID_MAX		2000065535U
/* Within what a rootless Engine's user is given by default. */
#define CONF_UID_INNER_MIN	10000U
#define CONF_UID_INNER_MAX	59999U
#define CONF_LOG_LEAST		(64 * 1024)	/* bytes */
#define CONF_MAPS_MAX		16		/* ranges of one user */

struct conf_image {
	TAILQ_ENTRY(conf_image)	 entry;
	char			*pattern;	/* fnmatch(3) */
	int			 allow;
};
TAILQ_HEAD(conf_images, conf_image);

/* A path of the host's that clients may mount, with all below it, or not. */
struct conf_mount {
	TAILQ_ENTRY(conf_mount)	 entry;
	char			*path;		/* plain: spec_valid_source() */
	int			 allow;
	int			 rw;		/* sandboxes may write there */
	int			 sockets;	/* and come to its sockets */
};
TAILQ_HEAD(conf_mounts, conf_mount);

/*
 * The users, or the groups, that a rootless Engine has: 0 is its own, and
 * from 1 on they are those of its ranges, in the order of the file.
 */
struct conf_map {
	uint32_t	 own;
	uint32_t	 n;
	struct {
		uint32_t	 first;		/* on the host */
		uint32_t	 count;
	}		 r[CONF_MAPS_MAX];
};

struct conf_defaults {
	char		 image[SBX_IMAGE_MAX + 1];
	uint64_t	 memory;		/* bytes */
	uint64_t	 tmp;			/* bytes of /tmp */
	uint64_t	 disk;			/* of the workspace, 0: no bound */
	uint32_t	 cpus;			/* thousandths */
	uint32_t	 pids;
	int		 readonly;
	int		 resume;		/* on start */
	uint32_t	 lifetime;		/* seconds, 0: none */
	uint32_t	 idle;
};

struct conf_limits {
	uint64_t	 log_exec;		/* bytes */
	uint64_t	 log_sandbox;
	uint64_t	 log_total;
	uint64_t	 memory;		/* the most of one sandbox */
	uint64_t	 disk;			/* the same, 0: no limit */
	uint32_t	 cpus;			/* thousandths, of one box */
	uint32_t	 pids;			/* of one sandbox */
	uint32_t	 sandboxes;		/* not deleted ones, of all */
	uint32_t	 execs;			/* running ones, of all */
	uint32_t	 clients;		/* connections, of all */
	uint32_t	 clients_user;		/* connections, of one uid */
	uint32_t	 lifetime;		/* seconds, 0: no limit */
	struct bound	 all[LIMIT_MAX];	/* of all together, if set */
};

/* Seconds. */
struct conf_timeouts {
	uint32_t	 create;		/* until ready */
	uint32_t	 stop;			/* grace before KILL */
	uint32_t	 delete;		/* until deleted */
	uint32_t	 engine;		/* one call to the Engine */
	uint32_t	 reattach;		/* attached exec's client */
	uint32_t	 stall;			/* of an exec's first reader */
	uint32_t	 stray;			/* a container of no sandbox */
};

/* Seconds, 0: for ever. */
struct conf_retain {
	uint32_t	 history;		/* never 0 */
	uint32_t	 stopped;
	uint32_t	 failed;
};

struct config {
	char			*file;
	char			 state[CONF_PATH_MAX];
	char			 socket[CONF_PATH_MAX];
	char			 socket_group[CONF_NAME_MAX];
	char			 engine[CONF_PATH_MAX];
	char			 engine_group[CONF_NAME_MAX];
	char			 engine_user[CONF_NAME_MAX]; /* rootless */
	char			 guest[CONF_PATH_MAX];
	struct conf_defaults	 defaults;
	struct conf_limits	 limits;
	struct conf_timeouts	 timeouts;
	struct conf_retain	 retain;
	struct conf_images	 images;
	struct conf_mounts	 mounts;
	struct right_rules	 rules;
	struct limit_rules	 limit_rules;
	char		       **places;	/* "file:line", from 1 */
	uint32_t		 nplaces;
	gid_t			 socket_gid;
	gid_t			 engine_gid;	/* if a group is named */
	struct conf_map		 uids;		/* if engine_user is not "" */
	struct conf_map		 gids;
	uint32_t		 uid_min;
	uint32_t		 uid_max;
	uint32_t		 restart_count;	/* deaths within ... */
	uint32_t		 restart_secs;	/* ... this time */
	uint32_t		 unenforced;	/* UNENFORCED_* */
	int			 user_root;	/* policy { user root } */
	int			 need_reason;	/* { reason required } */
	int		 best_effort;	/* sandbox best-effort */
};

/* All errors of one run, each a line `file:line: text`. */
struct conf_errors {
	char	 text[CONF_ERRORS_MAX];
	size_t	 len;
	int	 count;
};

/* conf.c */
struct config	*conf_new(const char *);
const struct conf_limits *conf_limits_default(void);
void		 conf_free(struct config *);
void		 conf_error(struct conf_errors *, const char *, int,
		    const char *, ...)
		    __attribute__((__format__(printf, 4, 5)));
int		 conf_add_image(struct config *, const char *, int);
/* The new one, or NULL: too many. */
struct conf_mount *conf_add_mount(struct config *, const char *, int);
uint32_t	 conf_add_place(struct config *, const char *, int);
int		 conf_add_rule(struct config *, const struct right_rule *);
int		 conf_add_limit(struct config *, const struct limit_rule *);
const char	*conf_place(const struct config *, uint32_t);
const char	*conf_get_count(const char *, uint32_t, uint32_t, uint32_t *);
const char	*conf_get_size(const char *, uint64_t, uint64_t, uint64_t *);
const char	*conf_get_time(const char *, uint32_t, uint32_t, uint32_t *);
const char	*conf_get_cpus(const char *, uint32_t *);
const char	*conf_get_path(const char *, char *, size_t);
const char	*conf_get_user(const char *, uint32_t *);
const char	*conf_get_group(const char *, uint32_t *);
const char	*conf_engine_path(const struct config *);
int		 conf_check_reload(const struct config *,
		    const struct config *, struct conf_errors *);

/* conf_ids.c */
/* Takes a rootless Engine's user; NULL, or what is wrong. */
const char	*conf_get_maps(struct config *, const char *);
int		 conf_check_uids(const struct config *, char *, size_t);
/* A sandbox's user or group on the host; -1 if there is none. */
int		 conf_host_id(const struct config *, const struct conf_map *,
		    uint32_t, uint32_t *);

/* parse.y: NULL if there was an error; all of them are in conf_errors. */
struct config	*conf_parse(const char *, struct conf_errors *);

/* printconf.c */
void		 conf_print(FILE *, const struct config *);

/* printuser.c: what applies to a user; -1 if there is no such user. */
int		 conf_print_user(FILE *, const struct config *, const char *);

#endif /* CONF_H */
