/* What the parts of h_seeds share. */
#ifndef SEEDS_H
#define SEEDS_H

#include <sys/types.h>

#include <stdint.h>

#include "msg.h"

#define SEED_MAX	4096
#define BUF		buf, sizeof(buf)

/* The one that is being made. */
struct seed {
	uint8_t	 data[SEED_MAX];
	size_t	 len;
};
extern struct seed	 s;

void	 add(const void *, size_t);
void	 add8(uint8_t);
void	 step(uint8_t, const void *, size_t);
void	 seed(const char *, const char *, unsigned int);
void	 fill(void *, const struct msg_def *);
void	 frame(uint8_t *, ssize_t, int, unsigned int);

/* seeds_call.c */
void	 seeds_call(void);

#endif
