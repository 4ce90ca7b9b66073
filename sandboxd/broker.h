/*
 * The broker's inside: which of its files does what.
 */
#ifndef BROKER_H
#define BROKER_H

#include <jansson.h>

#include "engine.h"
#include "policy.h"

struct broker {
	struct policy	 policy;	/* the parent's words, and /info's */
	struct chan	 store;
	int		 have_store;
	int		 up;		/* the Engine is there */
	char		 why[ENGINE_TEXT_MAX];	/* why it is not */
};
extern struct broker	 broker_env;

/* broker_engine.c: is the Engine there? */
void	 broker_engine_start(void);
void	 broker_engine_stop(void);
/* A call found it away: look now instead of at the end of the stream. */
void	 broker_engine_lost(const char *);

/* broker_store.c: what the store says and hears */
void	 broker_store_start(int);
enum code broker_code(const struct engine_answer *);
void	 broker_send_failed(uint64_t, uint64_t, enum code, const char *,
	    const char *, int);
void	 broker_send_state(uint32_t, uint64_t, uint64_t, const json_t *,
	    int);

/* broker_ops.c: one operation at a time for a sandbox; see broker_ops.h */
int	 broker_op_create(uint64_t, struct msg_box_create *);
int	 broker_op_ref(uint32_t, uint64_t, const struct msg_box_ref *);
int	 broker_op_update(uint64_t, const struct msg_box_update *);
int	 broker_op_event(uint64_t, const char *, const char *);
void	 broker_op_kick(void);		/* the Engine is back */

/* broker_event.c: the Engine's events */
void	 broker_event(const json_t *);
/* What became of it while nobody listened: told, if it is dead. */
void	 broker_event_look(const char *, uint64_t, int);

/* broker_import.c: images and the inventory */
void	 broker_import(uint64_t, uint64_t, uint32_t, const char *);
void	 broker_inventory(uint64_t);

#endif /* BROKER_H */
