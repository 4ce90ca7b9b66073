/*
 * What the guest that lies, h_guest.c, says of terminals and of changes.
 */
#ifndef GUEST_LIES_H
#define GUEST_LIES_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

/* Of the command with this number, which it has said to have started. */
struct guest_lie {
	const char	*name;
	void		(*lie)(uint64_t);
};
extern const struct guest_lie	 guest_lies[];
extern const size_t		 guest_nlies;

/* h_guest.c; -1: the connection is gone */
int	 say(const uint8_t *, ssize_t);
int	 output(uint64_t, uint32_t stream, uint64_t off, const char *, size_t);
int	 ended(uint64_t, uint64_t len);

#endif
