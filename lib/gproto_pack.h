/*
 * How the encoders and decoders of gproto_msg.c write and read a frame.
 */

#ifndef GPROTO_PACK_H
#define GPROTO_PACK_H

#include "gproto.h"

/* Where an encoder is; size is 0 once something did not fit. */
struct gp_writer {
	uint8_t	*buf;
	size_t	 size;
	size_t	 pos;
};

/* Where a decoder is; bad once something was missing. */
struct gp_reader {
	const uint8_t	*data;
	size_t		 left;
	int		 bad;
};

void	 gp_begin(struct gp_writer *, uint8_t *, size_t, unsigned int,
	    uint64_t);
void	 gp_put(struct gp_writer *, uint64_t, size_t);
void	 gp_put_data(struct gp_writer *, const void *, size_t);
/* Fills in the length; what the other end would refuse is not sent. */
ssize_t	 gp_end(struct gp_writer *);
ssize_t	 gp_end_head(struct gp_writer *, size_t);

void	 gp_open(struct gp_reader *, const struct gp_frame *, unsigned int);
uint64_t gp_take(struct gp_reader *, size_t);
const uint8_t *gp_take_data(struct gp_reader *, size_t);
/* Nothing was missing and nothing is left over. */
int	 gp_close(const struct gp_reader *);

#endif /* GPROTO_PACK_H */
