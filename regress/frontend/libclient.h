/*
 * libsandbox against the real frontend: the library runs in a child of the
 * test, the test is store and runner.
 */
#ifndef LIBCLIENT_H
#define LIBCLIENT_H

#include <sys/types.h>

#include <atf-c.h>
#include <err.h>

#include "harness.h"
#include "libsandbox.h"

#define LIB_TEST(name)							\
ATF_TC_WITH_CLEANUP(name);						\
ATF_TC_HEAD(name, tc)							\
{									\
	atf_tc_set_md_var(tc, "require.user", "root");			\
	atf_tc_set_md_var(tc, "timeout", "300");			\
}									\
ATF_TC_CLEANUP(name, tc)						\
{									\
	scratch_remove();						\
}									\
ATF_TC_BODY(name, tc)

/* In the child: what is not so ends it with a status that is not 0. */
#define CHECK(c)	do {						\
	if (!(c))							\
		errx(1, "line %d: %s", __LINE__, #c);			\
} while (0)

extern struct fe	 fe;
extern char		 path[128];	/* of the socket */
extern int		 listener;
extern char		 box[];		/* a sandbox's name */

/* The folder with the socket, and its end. */
void	 scratch_make(void);
void	 scratch_remove(void);

/* In the child. */
struct sandbox *
	 open_it(void);
int	 count(struct sandbox_answer *, void *);	/* a sandbox_cb */
int	 input(const char *);	/* a descriptor that has the text */

/* In the test. */
void	 child_start(void (*)(void));
void	 child_wait(void);
/* Its connection, handed to the frontend and greeted; the session. */
uint64_t take(void);
void	 send_box(uint64_t, uint32_t, const char *);
void	 send_accepted(uint64_t, uint32_t, const char *);
void	 send_error(uint64_t, uint32_t, const char *);
/* The end of a pipe for the client; our end. */
int	 send_stream(uint64_t, uint32_t, uint32_t stream, uint64_t offset);
void	 send_out(int, const char *);
void	 send_taken(int, const char *);	/* the same, and it was read */
void	 expect_in(int, const char *);

#endif
