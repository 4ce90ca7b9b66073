/* Log lines: to standard error, to syslog, or to a hook. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

static int		 debug = 1;
static int		 verbose;
static const char	*procname = "";
static void		*reserve;	/* for the last line */
static void		(*hook)(int, const char *);

#define LOG_RESERVE	(96 * 1024)	/* less than what is mapped by itself */

void
log_init(int n_debug, int facility)
{
	extern char	*__progname;

	debug = n_debug;
	if (!debug)
		openlog(__progname, LOG_PID | LOG_NDELAY, facility);
	tzset();
}

void
log_procinit(const char *name)
{
	procname = name;
	/* Who ends for lack of memory can say so: it takes some. */
	if (reserve == NULL)
		reserve = malloc(LOG_RESERVE);
}

void
log_setverbose(int v)
{
	verbose = v;
}

int
log_getverbose(void)
{
	return (verbose);
}

void
log_sethook(void (*n_hook)(int, const char *))
{
	hook = n_hook;
}

/*
 * A stranger's bytes may be in a line: each byte of what is not printed as it
 * stands becomes a question mark.
 */
void
log_clean(char *s)
{
	size_t	 n;

	while (*s != '\0') {
		if ((n = text_char((unsigned char *)s)) == 0)
			*s = '?';
		s += n == 0 ? 1 : n;
	}
}

/* One write a line, so that lines of processes stay whole. */
static void
to_stderr(const char *proc, const char *line)
{
	static unsigned long	 lost;	/* lines that nobody took */
	const char		*colon = *proc == '\0' ? "" : ": ";

	/* The last of them may have been written in part. */
	if (lost != 0 && dprintf(STDERR_FILENO,
	    "\n%s%s%lu lines of the log are missing here\n", proc, colon,
	    lost) > 0)
		lost = 0;
	if (dprintf(STDERR_FILENO, "%s%s%s\n", proc, colon, line) < 0)
		lost++;
}

void
log_line(int priority, const char *proc, const char *line)
{
	char	*copy;

	if ((copy = strdup(line)) == NULL)
		return;
	log_clean(copy);
	if (debug)
		to_stderr(proc, copy);
	else
		syslog(priority, "%s%s%s", proc, *proc == '\0' ? "" : ": ",
		    copy);
	free(copy);
}

static void
log_emit(int priority, const char *line)
{
	if (hook != NULL)
		hook(priority, line);
	else
		log_line(priority, procname, line);
}

static void
vlog(int priority, int saved_errno, const char *fmt, va_list ap)
{
	char	 buf[4096];
	int	 n;

	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	if (n < 0)
		return;
	if (saved_errno != 0 && (size_t)n < sizeof(buf))
		snprintf(buf + n, sizeof(buf) - n, ": %s",
		    strerror(saved_errno));
	log_emit(priority, buf);
}

void
log_warn(const char *fmt, ...)
{
	int	 saved_errno = errno;
	va_list	 ap;

	va_start(ap, fmt);
	vlog(LOG_ERR, saved_errno, fmt, ap);
	va_end(ap);
	errno = saved_errno;
}

void
log_warnx(const char *fmt, ...)
{
	int	 saved_errno = errno;
	va_list	 ap;

	va_start(ap, fmt);
	vlog(LOG_ERR, 0, fmt, ap);
	va_end(ap);
	errno = saved_errno;
}

void
log_info(const char *fmt, ...)
{
	int	 saved_errno = errno;
	va_list	 ap;

	va_start(ap, fmt);
	vlog(LOG_INFO, 0, fmt, ap);
	va_end(ap);
	errno = saved_errno;
}

void
log_debug(const char *fmt, ...)
{
	int	 saved_errno = errno;
	va_list	 ap;

	if (!verbose)
		return;
	va_start(ap, fmt);
	vlog(LOG_DEBUG, 0, fmt, ap);
	va_end(ap);
	errno = saved_errno;
}

void
fatal(const char *fmt, ...)
{
	char	 buf[4096];
	int	 saved_errno = errno;
	va_list	 ap;

	free(reserve);
	reserve = NULL;
	va_start(ap, fmt);
	(void)snprintf(buf, sizeof(buf), "fatal: %s", fmt);
	vlog(LOG_CRIT, saved_errno, buf, ap);
	va_end(ap);
	exit(1);
}

void
fatalx(const char *fmt, ...)
{
	char	 buf[4096];
	va_list	 ap;

	free(reserve);
	reserve = NULL;
	va_start(ap, fmt);
	(void)snprintf(buf, sizeof(buf), "fatal: %s", fmt);
	vlog(LOG_CRIT, 0, buf, ap);
	va_end(ap);
	exit(1);
}
