/*
 * What is done to a container: an operation of the broker, and what those of
 * each kind share.
 */
#ifndef BROKER_OPS_H
#define BROKER_OPS_H

#include "broker.h"

#define BOP_WAIT_MAX	1000	/* ms between two looks */

enum bop_kind {
	BOP_CREATE, BOP_START, BOP_KILL, BOP_REMOVE, BOP_PAUSE, BOP_UNPAUSE,
	BOP_UPDATE,
	BOP_LOOK	/* of our own: what has somebody else done to it? */
};

struct bop {
	TAILQ_ENTRY(bop)	 entry;
	enum bop_kind		 kind;
	uint64_t		 op;		/* 0: nobody waits for it */
	uint64_t		 n;		/* 0: a stray, by its ID */
	int			 running;	/* it is its turn */
	int			 died;		/* an event said so meanwhile */
	int			 appeared;	/* so, while it was removed */
	int			 gone;		/* what had its ID */
	int			 moved;		/* paused, or renamed, meanwhile */
	int			 limited;	/* got other limits, so too */
	int			 wait;		/* ms before the next look */
	int			 absent, tries;
	int			 renamed;	/* found without its name */
	int			 doubt;		/* a start of unknown outcome */
	struct msg_box_create	 req;		/* asked for, or read back */
	struct policy_box	 box;
	struct msg_box_update	 limits;	/* that are to be */
	json_t			*image;		/* inspected */
	char			 nonce[33];
	char			 name[80];	/* ours, or an ID */
	char			 container[80];	/* "": not known */
	enum code		 code;		/* of what went wrong */
	char			 text[ENGINE_TEXT_MAX];
	void			(*step)(struct bop *);
	struct event		 timer;
};

/* broker_ops.c: each ends with one of the first three. */
void		 bop_end(struct bop *);
void		 bop_fail(struct bop *, enum code, const char *field,
		    int left, const char *, ...)
		    __attribute__((__format__(printf, 5, 6)));
/* The answer of a call that did not do what it should. */
void		 bop_fail_answer(struct bop *, const struct engine_answer *,
		    int left);
const char	*bop_what(const struct bop *);	/* an ID, or the name */
void		 bop_later(struct bop *, void (*)(struct bop *));
void		 bop_tried(struct bop *, const struct engine_answer *);
int		 bop_given_up(struct bop *);
int		 bop_is_it(const struct bop *, const json_t *);
int		 bop_set_container(struct bop *, const json_t *);
int		 bop_found(struct bop *, struct engine_answer *,
		    void (*again)(struct bop *));

/* broker_create.c, _freeze.c, _remove.c, _update.c: how each begins. */
void		 bop_create(struct bop *);
void		 bop_start(struct bop *);
void		 bop_freeze(struct bop *);
void		 bop_look(struct bop *);
void		 bop_kill(struct bop *);
void		 bop_remove(struct bop *);
void		 bop_update(struct bop *);
void		 bop_update_late(const char *);

#endif /* BROKER_OPS_H */
