/*
 * What the targets share: a look at their input, and in the place of lib/log.c
 * a silent one in which fatal() is a fault.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <sys/types.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fuzz {
	const uint8_t	*p;
	size_t		 len;
};

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* The next byte, 0 at the end. */
uint8_t	 fuzz_u8(struct fuzz *);
/* Memory of exactly this size, so that an overrun is seen; free(3) it. */
uint8_t	*fuzz_copy(const void *, size_t);
/* The rest as a string, up to its first NUL; free(3) it. */
char	*fuzz_string(struct fuzz *);
/*
 * One step of a target that has several things to do: a byte that says which
 * and a length in two, then as many bytes.  0 at the end.
 */
int	 fuzz_step(struct fuzz *, int *what, struct fuzz *data);
/* A fault if a descriptor was left open since the last call but one. */
void	 fuzz_fds(void);

#define need(x)								\
	do {								\
		if (!(x)) {						\
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
			    __LINE__, #x);				\
			abort();					\
		}							\
	} while (0)

#endif
