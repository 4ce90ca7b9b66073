/*
 * Log lines in the manner of the family.  A process writes to standard error
 * or syslog, or, when log_sethook() was called, hands its lines over.
 */
#ifndef LOG_H
#define LOG_H

#include <stdarg.h>

void	log_init(int debug, int facility);	/* debug: standard error */
void	log_procinit(const char *);		/* name that lines begin with */
void	log_setverbose(int);
int	log_getverbose(void);
/* From now on each line goes to the hook instead; NULL undoes it. */
void	log_sethook(void (*)(int priority, const char *line));
/* What would steer a terminal becomes question marks. */
void	log_clean(char *);
/* Writes a line, under the name of another process. */
void	log_line(int priority, const char *proc, const char *line);

void	log_warn(const char *, ...) __attribute__((__format__(printf, 1, 2)));
void	log_warnx(const char *, ...) __attribute__((__format__(printf, 1, 2)));
void	log_info(const char *, ...) __attribute__((__format__(printf, 1, 2)));
void	log_debug(const char *, ...) __attribute__((__format__(printf, 1, 2)));
void	fatal(const char *, ...)
	    __attribute__((__noreturn__, __format__(printf, 1, 2)));
void	fatalx(const char *, ...)
	    __attribute__((__noreturn__, __format__(printf, 1, 2)));

#endif
