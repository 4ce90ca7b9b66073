/*
 * imsg.h: messages with a header over a Unix socket, and the growing
 * buffers which they are made of.  The calls are those of imsg(3) and
 * ibuf(3); see the pages in man/.
 */

#ifndef SBX_IMSG_H
#define SBX_IMSG_H

#include <sys/types.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include <stddef.h>
#include <stdint.h>

#define IMSG_HEADER_SIZE	sizeof(struct imsg_hdr)
#define MAX_IMSGSIZE		16384	/* header and payload, at first */

/* The highest bit of the length: a descriptor travels beside the message. */
#define IMSG_FD_MARK		0x80000000U

struct ibuf {
	TAILQ_ENTRY(ibuf)	 entry;
	uint8_t			*buf;
	size_t			 size;	/* allocated */
	size_t			 max;	/* may be allocated */
	size_t			 wpos;	/* end of the data */
	size_t			 rpos;	/* what has been read or sent */
	int			 fd;
	int			 flags;
};
TAILQ_HEAD(ibufqueue, ibuf);

#define IBUF_BORROWED		0x01	/* the bytes belong to another */

struct msgbuf {
	struct ibufqueue	 bufs;
	uint32_t		 queued;	/* buffers */
	size_t			 bytes;		/* not yet sent */
};

struct imsg_hdr {
	uint32_t		 type;
	uint32_t		 len;		/* with this header */
	uint32_t		 peerid;
	uint32_t		 pid;
};

struct imsg {
	struct imsg_hdr		 hdr;
	struct ibuf		*buf;
};

#define IMSGBUF_FDS		16		/* received, not yet asked for */

struct imsgbuf {
	struct msgbuf		 w;
	uint8_t			*rdata;		/* what has arrived */
	size_t			 rsize;
	size_t			 rlen;
	size_t			 rpos;
	int			 fds[IMSGBUF_FDS];
	int			 nfds;
	pid_t			 pid;
	uint32_t		 maxsize;	/* with the header */
	int			 fd;
	int			 fdpass;
};

/* imsg.c */
int		 imsgbuf_init(struct imsgbuf *, int);
void		 imsgbuf_allow_fdpass(struct imsgbuf *);
int		 imsgbuf_set_maxsize(struct imsgbuf *, uint32_t);
int		 imsgbuf_read(struct imsgbuf *);
int		 imsgbuf_write(struct imsgbuf *);
int		 imsgbuf_flush(struct imsgbuf *);
int		 imsgbuf_get(struct imsgbuf *, struct imsg *);
void		 imsgbuf_clear(struct imsgbuf *);
uint32_t	 imsgbuf_queuelen(struct imsgbuf *);
size_t		 imsgbuf_queuesize(struct imsgbuf *);

int		 imsg_compose(struct imsgbuf *, uint32_t, uint32_t, pid_t, int,
		    const void *, size_t);
int		 imsg_composev(struct imsgbuf *, uint32_t, uint32_t, pid_t, int,
		    const struct iovec *, int);
int		 imsg_compose_ibuf(struct imsgbuf *, uint32_t, uint32_t, pid_t,
		    struct ibuf *);
struct ibuf	*imsg_create(struct imsgbuf *, uint32_t, uint32_t, pid_t,
		    size_t);
int		 imsg_add(struct ibuf *, const void *, size_t);
void		 imsg_close(struct imsgbuf *, struct ibuf *);
int		 imsg_forward(struct imsgbuf *, struct imsg *);
void		 imsg_free(struct imsg *);

int		 imsg_get_buf(struct imsg *, void *, size_t);
int		 imsg_get_data(struct imsg *, void *, size_t);
int		 imsg_get_fd(struct imsg *);
int		 imsg_get_ibuf(struct imsg *, struct ibuf *);
uint32_t	 imsg_get_id(struct imsg *);
size_t		 imsg_get_len(struct imsg *);
pid_t		 imsg_get_pid(struct imsg *);
int		 imsg_get_strbuf(struct imsg *, char *, size_t);
uint32_t	 imsg_get_type(struct imsg *);

/* ibuf.c */
struct ibuf	*ibuf_open(size_t);
struct ibuf	*ibuf_dynamic(size_t, size_t);
void		 ibuf_free(struct ibuf *);
int		 ibuf_add(struct ibuf *, const void *, size_t);
int		 ibuf_add_ibuf(struct ibuf *, const struct ibuf *);
int		 ibuf_add_strbuf(struct ibuf *, const char *, size_t);
int		 ibuf_add_zero(struct ibuf *, size_t);
int		 ibuf_add_n8(struct ibuf *, uint64_t);
int		 ibuf_add_n16(struct ibuf *, uint64_t);
int		 ibuf_add_n32(struct ibuf *, uint64_t);
int		 ibuf_add_n64(struct ibuf *, uint64_t);
int		 ibuf_add_h16(struct ibuf *, uint64_t);
int		 ibuf_add_h32(struct ibuf *, uint64_t);
int		 ibuf_add_h64(struct ibuf *, uint64_t);
void		*ibuf_reserve(struct ibuf *, size_t);
void		*ibuf_seek(struct ibuf *, size_t, size_t);
int		 ibuf_set(struct ibuf *, size_t, const void *, size_t);
int		 ibuf_set_maxsize(struct ibuf *, size_t);
int		 ibuf_set_n8(struct ibuf *, size_t, uint64_t);
int		 ibuf_set_n16(struct ibuf *, size_t, uint64_t);
int		 ibuf_set_n32(struct ibuf *, size_t, uint64_t);
int		 ibuf_set_n64(struct ibuf *, size_t, uint64_t);
int		 ibuf_set_h16(struct ibuf *, size_t, uint64_t);
int		 ibuf_set_h32(struct ibuf *, size_t, uint64_t);
int		 ibuf_set_h64(struct ibuf *, size_t, uint64_t);
void		*ibuf_data(const struct ibuf *);
size_t		 ibuf_size(const struct ibuf *);
size_t		 ibuf_left(const struct ibuf *);
int		 ibuf_truncate(struct ibuf *, size_t);
void		 ibuf_rewind(struct ibuf *);
void		 ibuf_from_buffer(struct ibuf *, void *, size_t);
void		 ibuf_from_ibuf(struct ibuf *, const struct ibuf *);
int		 ibuf_get(struct ibuf *, void *, size_t);
int		 ibuf_get_ibuf(struct ibuf *, size_t, struct ibuf *);
int		 ibuf_get_n8(struct ibuf *, uint8_t *);
int		 ibuf_get_n16(struct ibuf *, uint16_t *);
int		 ibuf_get_n32(struct ibuf *, uint32_t *);
int		 ibuf_get_n64(struct ibuf *, uint64_t *);
int		 ibuf_get_h16(struct ibuf *, uint16_t *);
int		 ibuf_get_h32(struct ibuf *, uint32_t *);
int		 ibuf_get_h64(struct ibuf *, uint64_t *);
char		*ibuf_get_string(struct ibuf *, size_t);
int		 ibuf_get_strbuf(struct ibuf *, char *, size_t);
int		 ibuf_skip(struct ibuf *, size_t);
int		 ibuf_fd_avail(struct ibuf *);
int		 ibuf_fd_get(struct ibuf *);
void		 ibuf_fd_set(struct ibuf *, int);

/* msgbuf.c */
void		 msgbuf_init(struct msgbuf *);
void		 msgbuf_clear(struct msgbuf *);
uint32_t	 msgbuf_queuelen(const struct msgbuf *);
int		 msgbuf_write(int, struct msgbuf *);
void		 ibuf_close(struct msgbuf *, struct ibuf *);

#endif
