/* Rows as model_rows.c reads them for model_load.c; nobody else does. */
#ifndef MODEL_ROWS_H
#define MODEL_ROWS_H

#include "model.h"

/* 0, EDB_NOTFOUND or -1 with the database's why set; rest may be NULL. */
int	 row_conf(struct model *, uint64_t n, struct proto_create *,
	    struct msg_rest *);
int	 row_times(struct model *, uint64_t n, struct time_row *,
	    struct msg_rest *);
int	 row_todo(struct model *, uint64_t n, struct sbx_todo *);
int	 row_update(struct model *, uint64_t n, struct sbx_update *);
int	 row_exec(struct model *, uint64_t n, uint64_t k, struct exec_row *,
	    struct msg_rest *);

/* A sandbox's row as a walk found it: the same. */
int	 row_sandbox(struct model *, const uint8_t *key, const uint8_t *val,
	    size_t nval, struct sbx_row *, struct msg_rest *);

/* model_lost.c: for the reason that the database gave; and what is left. */
void	 lost_mark(struct model *, struct sandbox *);
int	 lost_restore(struct model *, struct sandbox *);

#endif
