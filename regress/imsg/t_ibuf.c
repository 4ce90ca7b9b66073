/*
 * t_ibuf.c: the bounds of buffers.
 */

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/imsg.h"

ATF_TC_WITHOUT_HEAD(open_bounds);
ATF_TC_BODY(open_bounds, tc)
{
	struct ibuf	*b;

	ATF_REQUIRE_ERRNO(EINVAL, ibuf_open(0) == NULL);
	ATF_REQUIRE_ERRNO(EINVAL, ibuf_dynamic(10, 9) == NULL);
	ATF_REQUIRE_ERRNO(EINVAL, ibuf_dynamic(0, 0) == NULL);
	ATF_REQUIRE_ERRNO(EINVAL, ibuf_dynamic(0, SIZE_MAX) == NULL);

	/* A fixed one takes its size and not a byte more. */
	ATF_REQUIRE((b = ibuf_open(4)) != NULL);
	ATF_CHECK_EQ(4, ibuf_left(b));
	ATF_CHECK_EQ(0, ibuf_add(b, "abcd", 4));
	ATF_CHECK_EQ(0, ibuf_left(b));
	ATF_CHECK_ERRNO(ERANGE, ibuf_add(b, "e", 1) == -1);
	ATF_CHECK_EQ(0, ibuf_add(b, NULL, 0));
	ATF_CHECK_EQ(4, ibuf_size(b));
	ATF_CHECK_EQ(0, memcmp(ibuf_data(b), "abcd", 4));
	ibuf_free(b);
	ibuf_free(NULL);
}

ATF_TC_WITHOUT_HEAD(grows_to_its_bound);
ATF_TC_BODY(grows_to_its_bound, tc)
{
	struct ibuf	*b;
	uint8_t		*p;
	size_t		 i;

	ATF_REQUIRE((b = ibuf_dynamic(0, 1000)) != NULL);
	ATF_CHECK(ibuf_data(b) == NULL);
	ATF_CHECK_ERRNO(ERANGE, ibuf_seek(b, 0, 0) == NULL);
	for (i = 0; i < 1000; i++)
		ATF_REQUIRE_EQ(0, ibuf_add_n8(b, i & 0xff));
	ATF_CHECK_ERRNO(ERANGE, ibuf_add_n8(b, 0) == -1);
	ATF_CHECK_ERRNO(ERANGE, ibuf_reserve(b, SIZE_MAX) == NULL);
	p = ibuf_data(b);
	for (i = 0; i < 1000; i++)
		ATF_REQUIRE_EQ((i & 0xff), p[i]);
	ibuf_free(b);

	ATF_REQUIRE((b = ibuf_dynamic(0, 1000)) != NULL);
	ATF_CHECK_EQ(0, ibuf_add_zero(b, 10));
	ATF_CHECK_ERRNO(ERANGE, ibuf_set_maxsize(b, 9) == -1);
	ATF_CHECK_ERRNO(ERANGE, ibuf_set_maxsize(b, 1001) == -1);
	ATF_CHECK_EQ(0, ibuf_set_maxsize(b, 12));
	ATF_CHECK_EQ(2, ibuf_left(b));
	ATF_CHECK_ERRNO(ERANGE, ibuf_add_zero(b, 3) == -1);
	ibuf_free(b);
}

ATF_TC_WITHOUT_HEAD(numbers);
ATF_TC_BODY(numbers, tc)
{
	static const uint8_t	 want[] = { 0x12, 0x12, 0x34, 0x12, 0x34,
	    0x56, 0x78, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0 };
	struct ibuf		*b;
	uint64_t		 n64;
	uint32_t		 n32;
	uint16_t		 n16;
	uint8_t			 n8;

	ATF_REQUIRE((b = ibuf_dynamic(0, 64)) != NULL);
	ATF_CHECK_EQ(0, ibuf_add_n8(b, 0x12));
	ATF_CHECK_EQ(0, ibuf_add_n16(b, 0x1234));
	ATF_CHECK_EQ(0, ibuf_add_n32(b, 0x12345678));
	ATF_CHECK_EQ(0, ibuf_add_n64(b, 0x123456789abcdef0));
	ATF_REQUIRE_EQ(sizeof(want), ibuf_size(b));
	ATF_CHECK_EQ(0, memcmp(ibuf_data(b), want, sizeof(want)));
	ATF_CHECK_EQ(0, ibuf_add_h16(b, 0x1234));
	ATF_CHECK_EQ(0, ibuf_add_h32(b, 0x12345678));
	ATF_CHECK_EQ(0, ibuf_add_h64(b, UINT64_MAX));

	/* What does not fit the type is refused, not cut. */
	ATF_CHECK_ERRNO(EINVAL, ibuf_add_n8(b, 0x100) == -1);
	ATF_CHECK_ERRNO(EINVAL, ibuf_add_n16(b, 0x10000) == -1);
	ATF_CHECK_ERRNO(EINVAL, ibuf_add_n32(b, 0x100000000) == -1);
	ATF_CHECK_ERRNO(EINVAL, ibuf_add_h16(b, UINT64_MAX) == -1);
	ATF_CHECK_ERRNO(EINVAL, ibuf_set_n8(b, 0, 0x100) == -1);

	ATF_CHECK_EQ(0, ibuf_set_n16(b, 1, 0xabcd));
	ATF_CHECK_EQ(0, ibuf_set_h32(b, ibuf_size(b) - 4, 7));
	ATF_CHECK_ERRNO(ERANGE, ibuf_set_h32(b, ibuf_size(b) - 3, 7) == -1);
	ATF_CHECK_ERRNO(ERANGE, ibuf_set_h32(b, SIZE_MAX, 7) == -1);

	ATF_CHECK_EQ(0, ibuf_get_n8(b, &n8));
	ATF_CHECK_EQ(0x12, n8);
	ATF_CHECK_EQ(0, ibuf_get_n16(b, &n16));
	ATF_CHECK_EQ(0xabcd, n16);
	ATF_CHECK_EQ(0, ibuf_get_n32(b, &n32));
	ATF_CHECK_EQ(0x12345678, n32);
	ATF_CHECK_EQ(0, ibuf_get_n64(b, &n64));
	ATF_CHECK_EQ(0x123456789abcdef0, n64);
	ATF_CHECK_EQ(0, ibuf_get_h16(b, &n16));
	ATF_CHECK_EQ(0x1234, n16);
	ATF_CHECK_EQ(0, ibuf_get_h32(b, &n32));
	ATF_CHECK_EQ(0x12345678, n32);
	/* Short of one byte, nothing is read. */
	ATF_CHECK_EQ(0, ibuf_skip(b, 1));
	ATF_CHECK_ERRNO(EBADMSG, ibuf_get_h64(b, &n64) == -1);
	ATF_CHECK_EQ(7, ibuf_size(b));
	ATF_CHECK_ERRNO(EBADMSG, ibuf_skip(b, 8) == -1);
	ATF_CHECK_ERRNO(EBADMSG, ibuf_skip(b, SIZE_MAX) == -1);
	ibuf_rewind(b);
	ATF_CHECK_EQ(sizeof(want) + 14, ibuf_size(b));
	ibuf_free(b);
}

ATF_TC_WITHOUT_HEAD(strings);
ATF_TC_BODY(strings, tc)
{
	struct ibuf	*b;
	char		 str[8], *p;

	ATF_REQUIRE((b = ibuf_dynamic(0, 64)) != NULL);
	ATF_CHECK_EQ(0, ibuf_add_strbuf(b, "seven77", 8));
	ATF_CHECK_ERRNO(EOVERFLOW, ibuf_add_strbuf(b, "eight888", 8) == -1);
	ATF_CHECK_EQ(0, ibuf_add(b, "eight888", 8));
	ATF_CHECK_EQ(0, ibuf_get_strbuf(b, str, 8));
	ATF_CHECK_STREQ("seven77", str);
	/* Eight bytes without an end are no string of eight. */
	ATF_CHECK_ERRNO(EBADMSG, ibuf_get_strbuf(b, str, 8) == -1);
	ATF_CHECK_ERRNO(EINVAL, ibuf_get_strbuf(b, str, 0) == -1);
	ATF_CHECK_ERRNO(EBADMSG, ibuf_get_string(b, 9) == NULL);
	ATF_REQUIRE((p = ibuf_get_string(b, 8)) != NULL);
	ATF_CHECK_STREQ("eight888", p);
	ATF_CHECK_EQ(0, ibuf_size(b));
	free(p);
	ibuf_free(b);
}

ATF_TC_WITHOUT_HEAD(parts);
ATF_TC_BODY(parts, tc)
{
	struct ibuf	*b, part, view;
	char		 bytes[] = "0123456789", out[8];
	void		*p;

	ibuf_from_buffer(&view, bytes, 10);
	ATF_CHECK_EQ(0, ibuf_left(&view));
	ATF_CHECK_ERRNO(EINVAL, ibuf_add(&view, "x", 1) == -1);
	ATF_CHECK_ERRNO(EINVAL, ibuf_set(&view, 0, "x", 1) == -1);
	ATF_CHECK_ERRNO(ERANGE, ibuf_truncate(&view, 11) == -1);
	ATF_CHECK_EQ(0, ibuf_get_ibuf(&view, 4, &part));
	ATF_CHECK_ERRNO(EBADMSG, ibuf_get_ibuf(&view, 7, &part) == -1);
	ATF_CHECK_EQ(4, ibuf_size(&part));
	ATF_CHECK_ERRNO(EBADMSG, ibuf_get(&part, out, 5) == -1);
	ATF_CHECK_EQ(0, ibuf_get(&part, out, 4));
	ATF_CHECK_EQ(0, memcmp(out, "0123", 4));
	/* Freeing a view frees nothing. */
	ibuf_free(&view);

	ATF_REQUIRE((b = ibuf_dynamic(0, 32)) != NULL);
	ATF_CHECK_EQ(0, ibuf_add_ibuf(b, &view));
	ATF_CHECK_EQ(6, ibuf_size(b));
	ATF_REQUIRE((p = ibuf_seek(b, 2, 4)) != NULL);
	ATF_CHECK_EQ(0, memcmp(p, "6789", 4));
	ATF_CHECK_ERRNO(ERANGE, ibuf_seek(b, 2, 5) == NULL);
	ATF_CHECK_ERRNO(ERANGE, ibuf_seek(b, 7, 0) == NULL);
	ATF_CHECK_ERRNO(ERANGE, ibuf_seek(b, 2, SIZE_MAX) == NULL);
	ATF_CHECK_EQ(0, ibuf_truncate(b, 2));
	ATF_CHECK_EQ(2, ibuf_size(b));
	ATF_CHECK_EQ(0, ibuf_truncate(b, 5));
	ATF_CHECK_EQ(0, memcmp(ibuf_data(b), "45\0\0\0", 5));
	ATF_CHECK_ERRNO(ERANGE, ibuf_truncate(b, 33) == -1);
	ibuf_free(b);
}

ATF_TC_WITHOUT_HEAD(descriptor);
ATF_TC_BODY(descriptor, tc)
{
	struct ibuf	*b;
	int		 fd;

	ATF_REQUIRE((fd = open("/dev/null", O_RDWR)) != -1);
	ATF_REQUIRE((b = ibuf_open(1)) != NULL);
	ATF_CHECK_EQ(0, ibuf_fd_avail(b));
	ATF_CHECK_EQ(-1, ibuf_fd_get(b));
	ibuf_fd_set(b, fd);
	ATF_CHECK_EQ(1, ibuf_fd_avail(b));
	ATF_CHECK_EQ(fd, ibuf_fd_get(b));
	ATF_CHECK_EQ(0, ibuf_fd_avail(b));
	/* What nobody took is closed with the buffer. */
	ibuf_fd_set(b, fd);
	ibuf_free(b);
	ATF_CHECK_ERRNO(EBADF, fcntl(fd, F_GETFD) == -1);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, open_bounds);
	ATF_TP_ADD_TC(tp, grows_to_its_bound);
	ATF_TP_ADD_TC(tp, numbers);
	ATF_TP_ADD_TC(tp, strings);
	ATF_TP_ADD_TC(tp, parts);
	ATF_TP_ADD_TC(tp, descriptor);
	return (atf_no_error());
}
