/*
 * The rows: what each is, its goal, and how it is printed.
 *
 * The limit is what the same would take without us, from the same run: a
 * goal that the limit itself misses is one that nothing here can reach, and
 * the row says so.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

enum on {
	ON_NOTHING,
	ON_VALUE,
	ON_RATIO		/* of value and limit */
};

enum sense {
	MOST,
	LEAST
};

static const struct {
	const char	*what;
	const char	*unit;
	int		 digits;
	enum on		 on;
	enum sense	 sense;
	double		 goal;
} rows[ROW_MAX] = {
	[ROW_SPAWN] = { "spawn on the host", "us", 0, 0, 0, 0 },
	[ROW_SYNC] = { "sync of a small record", "us", 0, 0, 0, 0 },
	[ROW_EXEC] = { "by libsandbox", "us", 0, 0, 0, 0 },
	[ROW_EXEC_99] = { "by libsandbox, p99", "us", 0, 0, 0, 0 },
	[ROW_EXEC_TIMES] = { "by libsandbox less two syncs, in spawns",
	    "x", 2, ON_VALUE, MOST, 1.75 },
	[ROW_CTL] = { "by sandboxctl, a process each", "us", 0, 0, 0, 0 },
	[ROW_CTL_99] = { "by sandboxctl, p99", "us", 0, 0, 0, 0 },
	[ROW_CTL_MORE] = { "sandboxctl more than libsandbox", "us", 0,
	    ON_VALUE, MOST, 3000 },
	[ROW_ENGINE_EXEC] = { "the Engine's exec", "us", 0, 0, 0, 0 },
	[ROW_ENGINE_TIMES] = { "the Engine's in ours", "x", 1, ON_VALUE,
	    LEAST, 30 },

	[ROW_MANY_SPAWN] = { "spawn on the host", "/s", 0, 0, 0, 0 },
	[ROW_MANY_RATE] = { "by libsandbox", "/s", 0, ON_VALUE, LEAST, 1200 },
	[ROW_MANY_50] = { "by libsandbox, each", "us", 0, 0, 0, 0 },
	[ROW_MANY_99] = { "by libsandbox, p99", "us", 0, 0, 0, 0 },
	[ROW_MANY_CTL] = { "by sandboxctl", "/s", 0, 0, 0, 0 },
	[ROW_MANY_CTL_50] = { "by sandboxctl, each", "us", 0, 0, 0, 0 },
	[ROW_MANY_CTL_99] = { "by sandboxctl, p99", "us", 0, 0, 0, 0 },
	[ROW_MANY_ENGINE] = { "the Engine's exec", "/s", 1, 0, 0, 0 },
	[ROW_MANY_TIMES] = { "ours in the Engine's", "x", 1, ON_VALUE, LEAST,
	    80 },

	[ROW_MORE_RATE] = { "by libsandbox", "/s", 0, 0, 0, 0 },
	[ROW_MORE_50] = { "by libsandbox, each", "us", 0, 0, 0, 0 },
	[ROW_MORE_99] = { "by libsandbox, p99", "us", 0, 0, 0, 0 },
	[ROW_MORE_CTL] = { "by sandboxctl", "/s", 0, 0, 0, 0 },
	[ROW_MORE_CTL_50] = { "by sandboxctl, each", "us", 0, 0, 0, 0 },
	[ROW_MORE_CTL_99] = { "by sandboxctl, p99", "us", 0, 0, 0, 0 },
	[ROW_MORE_TIMES] = { "ours in the Engine's", "x", 1, 0, 0, 0 },

	[ROW_CREATE] = { "create to ready", "ms", 0, ON_RATIO, MOST, 1.1 },
	[ROW_REMOVE] = { "remove", "ms", 0, 0, 0, 0 },
	[ROW_CREATE_MANY] = { "create to ready, 4 at a time, each", "ms", 0,
	    ON_RATIO, MOST, 1.1 },
	[ROW_REMOVE_MANY] = { "remove, 4 at a time, each", "ms", 0, 0, 0, 0 },
	[ROW_ACCEPTED] = { "create to accepted", "ms", 1, ON_VALUE, MOST, 50 },

	[ROW_STREAM] = { "stream of output", "MB/s", 0, 0, 0, 0 },
	[ROW_BYTE] = { "a byte, from its writing", "us", 0, 0, 0, 0 },
	[ROW_BYTE_99] = { "a byte, p99", "us", 0, 0, 0, 0 },

	[ROW_EVENTS] = { "of commands that cannot start", "/s", 0, ON_VALUE,
	    LEAST, 5000 },
	[ROW_EVENTS_BATCH] = { "of them in a commit", "", 1, ON_VALUE, LEAST,
	    8 },
	[ROW_EVENTS_RUN] = { "of commands that run", "/s", 0, 0, 0, 0 },
	[ROW_EVENTS_RUN_BATCH] = { "of these in a commit", "", 1, 0, 0, 0 },

	[ROW_PSS_NONE] = { "all processes, one sandbox", "MB", 1, 0, 0, 0 },
	[ROW_PSS] = { "all processes, idle sandboxes", "MB", 1, 0, 0, 0 },
	[ROW_PSS_200] = { "the same, by their slope at 200", "MB", 1, ON_VALUE,
	    MOST, 40 },
	[ROW_PSS_GUEST] = { "a guest", "KB", 0, 0, 0, 0 },
	[ROW_WAKE] = { "wake-ups of all processes", "/s", 2, 0, 0, 0 },
	[ROW_WAKE_BOX] = { "wake-ups for each sandbox", "/s", 2, ON_VALUE,
	    MOST, 0.05 },
	[ROW_WAKE_GUEST] = { "wake-ups of a guest", "/s", 2, ON_VALUE, MOST,
	    0.05 },
	[ROW_CPU] = { "their processor time", "us/s", 0, 0, 0, 0 },

	[ROW_SUB_CPU_ALL] = { "processor time, all idle", "us/s", 0, 0, 0, 0 },
	[ROW_SUB_CPU] = { "more than without them", "us/s", 0, ON_VALUE, MOST,
	    1000 },
	[ROW_DELIVERY] = { "delivery beside them, its sync too", "us", 0,
	    ON_VALUE, MOST, 1000 },
	[ROW_DELIVERY_99] = { "delivery, p99", "us", 0, 0, 0, 0 },
	[ROW_DELIVERY_ALL] = { "delivery to all of them, each", "us", 1, 0, 0,
	    0 },

	[ROW_EXIT] = { "killed to told", "us", 0, ON_VALUE, MOST, 5000 },
	[ROW_EXIT_99] = { "killed to told, p99", "us", 0, 0, 0, 0 },

	[ROW_RESTART] = { "store killed to the first answer", "ms", 1,
	    ON_VALUE, MOST, 100 },
	[ROW_RESTART_MAX] = { "the slowest", "ms", 1, 0, 0, 0 },
	[ROW_BACK] = { "a guest's way back", "us", 0, ON_VALUE, MOST, 1000 },
	[ROW_BACK_ALL] = { "killed to the last guest back", "ms", 1, 0, 0, 0 },

	[ROW_START] = { "to the first answer", "ms", 1, ON_VALUE, MOST, 3000 },
	[ROW_START_KILLED] = { "the same after a kill", "ms", 1, ON_VALUE,
	    MOST, 3000 },

	[ROW_SESSION_PING] = { "requests of the daemon", "/s", 0, 0, 0, 0 },
	[ROW_SESSION_WRITE] = { "files of 4 KiB written", "/s", 0, ON_VALUE,
	    LEAST, 1000 },
	[ROW_SESSION_READ] = { "files of 4 KiB read", "/s", 0, ON_VALUE,
	    LEAST, 1000 },
	[ROW_SESSION_READ_ONE] = { "one after the other, each", "us", 0, 0,
	    0, 0 },
	[ROW_SESSION_RUN] = { "sh -c true", "/s", 0, 0, 0, 0 },

	[ROW_FILE_WRITE] = { "write by libsandbox", "us", 0, ON_VALUE, MOST,
	    500 },
	[ROW_FILE_WRITE_99] = { "write, p99", "us", 0, 0, 0, 0 },
	[ROW_FILE_READ] = { "read by libsandbox", "us", 0, ON_VALUE, MOST,
	    500 },
	[ROW_FILE_READ_99] = { "read, p99", "us", 0, 0, 0, 0 },
	[ROW_FILE_CTL] = { "read by sandboxctl, a process each", "us", 0,
	    ON_VALUE, MOST, 3000 },
	[ROW_FILE_ENGINE] = { "read by the Engine's exec", "us", 0, 0, 0, 0 },
	[ROW_FILE_TIMES] = { "the Engine's in ours", "x", 1, 0, 0, 0 },
	[ROW_LARGE_IN] = { "in", "MB/s", 0, ON_VALUE, LEAST, 800 },
	[ROW_LARGE_IN_ENGINE] = { "in by the Engine's archive", "MB/s", 0, 0,
	    0, 0 },
	[ROW_LARGE_OUT] = { "out", "MB/s", 0, ON_VALUE, LEAST, 2000 },
	[ROW_LARGE_OUT_ENGINE] = { "out by the Engine's archive", "MB/s", 0, 0,
	    0, 0 },
	[ROW_GREP] = { "search, against grep on the host", "ms", 0, ON_RATIO,
	    MOST, 1.3 },
	[ROW_GREP_ENGINE] = { "grep by the Engine's exec", "ms", 0, 0, 0, 0 },
	[ROW_TREE_OUT] = { "out, against tar on the host", "ms", 0, ON_RATIO,
	    MOST, 2 },
	[ROW_TREE_OUT_ENGINE] = { "out by docker cp and tar", "ms", 0, 0, 0,
	    0 },
	[ROW_TREE_IN] = { "in, against tar on the host", "ms", 0, 0, 0, 0 },
	[ROW_TREE_IN_ENGINE] = { "in by tar and docker exec", "ms", 0, 0, 0,
	    0 },

	[ROW_ECHO] = { "a letter's echo", "us", 0, ON_VALUE, MOST, 1000 },
	[ROW_ECHO_99] = { "echo, p99", "us", 0, 0, 0, 0 },

	[ROW_FILTERS] = { "one command", "us", 0, ON_RATIO, MOST, 1.03 },
	[ROW_FILTERS_MANY] = { "in flight", "/s", 0, ON_RATIO, LEAST, 0.97 },
};

static int
meets(enum row_id id, double v)
{
	return (rows[id].sense == MOST ? v <= rows[id].goal :
	    v >= rows[id].goal);
}

static const char *
verdict(enum row_id id, double value, double limit)
{
	if (rows[id].on == ON_NOTHING)
		return ("");
	if (meets(id, rows[id].on == ON_RATIO ? value / limit : value))
		return ("ok");
	if (rows[id].on == ON_VALUE && limit != 0 && !meets(id, limit))
		return ("misses, as does the limit");
	return ("misses");
}

void
title(const char *fmt, ...)
{
	va_list	 ap;
	char	 text[80];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("\n%-42s %12s %12s %7s %12s\n", text, "value", "limit",
	    "ratio", "goal");
}

static const char *
number(char *buf, size_t len, enum row_id id, double v)
{
	snprintf(buf, len, "%.*f %s", rows[id].digits, v, rows[id].unit);
	return (buf);
}

void
row(enum row_id id, double value, double limit)
{
	char	 v[32], l[32] = "-", r[16] = "-", g[64] = "-", n[32];
	const char	*w;

	number(v, sizeof(v), id, value);
	if (limit != 0) {
		number(l, sizeof(l), id, limit);
		snprintf(r, sizeof(r), "%.2f", value / limit);
	}
	if (rows[id].on == ON_RATIO)
		snprintf(g, sizeof(g), "ratio %s %g",
		    rows[id].sense == MOST ? "<" : ">", rows[id].goal);
	else if (rows[id].on == ON_VALUE)
		snprintf(g, sizeof(g), "%s %s", rows[id].sense == MOST ? "<" :
		    ">", number(n, sizeof(n), id, rows[id].goal));
	w = verdict(id, value, limit);
	printf("  %-40s %12s %12s %7s %12s%s%s\n", rows[id].what, v, l, r, g,
	    w[0] == '\0' ? "" : "  ", w);
}
