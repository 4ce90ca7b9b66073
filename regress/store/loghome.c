/*
 * loghome.c: see loghome.h.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loghome.h"
#include "scratch.h"

struct eventdb	 db;
struct eventlog	 lg;
char		 home[1024];

void
home_make(void)
{
	char	 cwd[512];

	ATF_REQUIRE(getcwd(cwd, sizeof(cwd)) != NULL);
	snprintf(home, sizeof(home), "%.200s/db", cwd);
	/* The database's own bound for its directory's name. */
	if (strlen(home) > 200) {
		scratch_template(home, sizeof(home));
		ATF_REQUIRE(mkdtemp(home) != NULL);
		return;
	}
	ATF_REQUIRE(mkdir(home, 0700) == 0);
}

void
db_open(void)
{
	ATF_REQUIRE_MSG(eventdb_open(&db, home) == 0, "%s", db.why);
	ATF_REQUIRE_MSG(eventlog_open(&lg, &db) == 0, "%s", db.why);
}

int
append_one(uint64_t sbx, uint64_t sseq)
{
	struct record	 r;

	memset(&r, 0, sizeof(r));
	r.sbx = sbx;
	r.sseq = sseq;
	r.type = 7;
	r.time = 1000 + sseq;
	r.details = (const uint8_t *)"\x80";
	r.ndetails = 1;
	return (eventlog_append(&lg, &r));
}

void
append_many(int from, int to)
{
	int	 i;

	ATF_REQUIRE_MSG(eventdb_begin(&db) == 0, "%s", db.why);
	for (i = from; i <= to; i++)
		ATF_REQUIRE_MSG(append_one(i % 3, i) == 0, "%s", db.why);
	ATF_REQUIRE_MSG(eventdb_commit(&db) == 0, "%s", db.why);
	eventlog_committed(&lg);
	ATF_REQUIRE_MSG(eventdb_mark(&db, lg.seq, lg.link) == 0, "%s",
	    db.why);
}

/* In a process of its own that dies without closing anything. */
void
crash_after(void (*fn)(void))
{
	pid_t	 pid;
	int	 status;

	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		fn();
		kill(getpid(), SIGKILL);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void
write_some(void)
{
	int	 i;

	db_open();
	for (i = 0; i < 20; i++)
		append_many(i * 10 + 1, i * 10 + 10);
}

int
count_one(void *arg, const struct record *r)
{
	uint64_t	*next = arg;

	ATF_REQUIRE_EQ(r->seq, *next);
	(*next)++;
	return (0);
}

uint64_t
count_events(uint64_t from)
{
	uint64_t	 next = from;

	ATF_REQUIRE_MSG(eventlog_read(&lg, from, count_one, &next) == 0,
	    "%s", db.why);
	return (next - from);
}

void
file_of(char *buf, size_t size, const char *name)
{
	ATF_REQUIRE(snprintf(buf, size, "%s/%s", home, name) < (int)size);
}
