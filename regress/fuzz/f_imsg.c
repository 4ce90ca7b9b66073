/* A client's bytes as they come in: pieces of any size, any header. */

#include <sys/socket.h>
#include <sys/types.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "imsg.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct imsgbuf	 ibuf;
	struct imsg	 imsg;
	struct ibuf	 b;
	uint64_t	 v;
	size_t		 off = 0, piece;
	int		 fds[2], n = 0;

	if (len == 0 || len > 60000)
		return (0);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == -1)
		abort();
	if (imsgbuf_init(&ibuf, fds[0]) == -1)
		abort();
	piece = (size_t)data[0] * 4 + 1;
	while (off < len) {
		if (piece > len - off)
			piece = len - off;
		if (write(fds[1], data + off, piece) != (ssize_t)piece)
			abort();
		off += piece;
		if (imsgbuf_read(&ibuf) != 1)
			abort();
		while ((n = imsgbuf_get(&ibuf, &imsg)) == 1) {
			if (imsg_get_len(&imsg) > len)
				abort();
			if (imsg_get_ibuf(&imsg, &b) == 0)
				while (ibuf_size(&b) >= 8)
					if (ibuf_get_n64(&b, &v) == -1)
						abort();
			imsg_free(&imsg);
		}
		if (n == -1)
			break;
	}
	imsgbuf_clear(&ibuf);
	close(fds[0]);
	close(fds[1]);
	return (0);
}
