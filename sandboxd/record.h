/*
 * The record of an event as it lies in the log.
 *
 * A frame is what the database stores under the event's sequence:
 *
 *	0	form: RECORD_EVENT or RECORD_SKELETON
 *	1	SHA-256 of the record
 *	33	link: SHA-256 over the previous link and the record's hash
 *	65	the record; a skeleton ends here
 *
 * Numbers of a record are big-endian; its layout is in sandboxd-events(7).
 */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_VERSION		1
#define RECORD_HASH_LEN		32
#define RECORD_FRAME_HEAD	(1 + 2 * RECORD_HASH_LEN)
#define RECORD_FIXED		72
#define RECORD_DETAILS_MAX	8192
#define RECORD_FRAME_MAX	(RECORD_FRAME_HEAD + RECORD_FIXED + \
				    RECORD_DETAILS_MAX)

#define RECORD_EVENT		'E'
#define RECORD_SKELETON		'S'

struct record {
	uint64_t	 seq;		/* of the host, from 1, no gaps */
	uint64_t	 sbx;		/* sandbox's number, 0: the host */
	uint64_t	 sseq;		/* of the sandbox, from 1, no gaps */
	uint64_t	 time;		/* nanoseconds since the epoch */
	uint64_t	 op;		/* operation, 0: none */
	uint64_t	 exec;		/* exec's number, 0: none */
	uint32_t	 owner;		/* uid the sandbox belongs to */
	uint32_t	 actor;		/* uid that asked */
	uint16_t	 type;
	uint16_t	 state;		/* the sandbox's state after it */
	const uint8_t	*details;	/* a msgpack map, or nothing */
	uint32_t	 ndetails;
};

struct record_frame {
	int		 form;
	uint8_t		 hash[RECORD_HASH_LEN];
	uint8_t		 link[RECORD_HASH_LEN];
	const uint8_t	*body;
	size_t		 nbody;
};

void	record_put64(uint8_t *, uint64_t);
uint64_t record_get64(const uint8_t *);

/* Encodes frame and record; sets the new link.  Returns the length, or -1. */
int	record_encode(uint8_t *, size_t, const struct record *,
	    const uint8_t *, uint8_t *);

/* Takes a frame apart and checks hash and link against the previous link. */
int	record_frame(struct record_frame *, const uint8_t *, size_t);
int	record_check(const struct record_frame *, const uint8_t *);

/* Decodes the body of an event; details point into it. */
int	record_decode(struct record *, const struct record_frame *);

void	record_hash(const uint8_t *, size_t, uint8_t *);
void	record_link(const uint8_t *, const uint8_t *, uint8_t *);

#endif
