/*
 * What the events of a log add up to, while it is proved: between the file
 * that goes through the events and the one that looks at the rows.
 */
#ifndef LOGVERIFY_BOX_H
#define LOGVERIFY_BOX_H

#include "logverify.h"

struct vexec {
	RB_ENTRY(vexec)	 entry;
	uint64_t	 k;
	enum exec_state	 state;
};
RB_HEAD(vexec_tree, vexec);

struct vbox {
	RB_ENTRY(vbox)		 entry;
	uint64_t		 n;
	uint64_t		 first;		/* host's sequence */
	uint64_t		 sseq;		/* newest */
	uint64_t		 last_k;
	uint32_t		 owner;
	enum sbx_state		 state;
	int			 cut;		/* its beginning is gone */
	struct vexec_tree	 live;
};

int	vbox_cmp(struct vbox *, struct vbox *);
int	vexec_cmp(struct vexec *, struct vexec *);

RB_PROTOTYPE(vbox_tree, vbox, entry, vbox_cmp)
RB_PROTOTYPE(vexec_tree, vexec, entry, vexec_cmp)

/* logverify.c: -1 and the reason, NULL if there is none. */
int	lv_bad(struct logverify *, const char *, ...)
	    __attribute__((__format__(printf, 2, 3)));
int	lv_bad_exec(struct logverify *, uint64_t n, uint64_t k,
	    const char *);
int	lv_bad_db(struct logverify *);
struct vbox *lv_box(struct logverify *, uint64_t);
struct vexec *lv_exec(struct vbox *, uint64_t);
int	lv_collected(struct logverify *, uint64_t);

/* logverify_rows.c: 1: there are more; 0: that was the last; -1: damaged. */
int	lv_boxes(struct logverify *, uint64_t until);
int	lv_rows(struct logverify *, uint64_t until);

#endif
