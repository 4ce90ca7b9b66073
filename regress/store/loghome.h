/*
 * loghome.h: an event log in a folder of the test's own, for programs that
 * look at it without the store.  What cannot be done ends the case.
 */
#ifndef LOGHOME_H
#define LOGHOME_H

#include <sys/types.h>

#include <stdint.h>

#include "eventdb.h"
#include "eventlog.h"

extern struct eventdb	 db;
extern struct eventlog	 lg;
extern char		 home[1024];

void		 home_make(void);
void		 db_open(void);
/* A small event of a sandbox, in a batch that is open: 0 or -1. */
int		 append_one(uint64_t, uint64_t);
/* Those from one number to another, in a batch of their own. */
void		 append_many(int, int);
/* Runs it in a process that dies without closing anything. */
void		 crash_after(void (*)(void));
void		 write_some(void);	/* 200 events, in 20 batches */
/* For eventlog_read(): that the next is *arg. */
int		 count_one(void *, const struct record *);
uint64_t	 count_events(uint64_t);	/* from that one on */
void		 file_of(char *, size_t, const char *);	/* its path */

#endif
