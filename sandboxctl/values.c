/*
 * values.c: the values of options and arguments, from their text.
 *
 * Only the form is judged here; what is too much for the daemon it refuses
 * itself.
 */

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sandboxctl.h"

/* Bytes, with an optional K, M, G or T of 1024. */
int
parse_size(const char *str, uint64_t *size)
{
	static const char	 units[] = "KMGT";
	const char		*unit;
	char			*end;
	unsigned long long	 n;
	int			 shift = 0;

	if (!isdigit((unsigned char)*str))
		return (-1);
	errno = 0;
	n = strtoull(str, &end, 10);
	if (errno != 0)
		return (-1);
	if (*end != '\0') {
		unit = strchr(units, toupper((unsigned char)*end));
		if (unit == NULL || end[1] != '\0')
			return (-1);
		shift = 10 * (unit - units + 1);
	}
	if (n == 0 || n > UINT64_MAX >> shift)
		return (-1);
	*size = (uint64_t)n << shift;
	return (0);
}

/* A decimal with at most three places, in thousandths; not zero. */
int
parse_milli(const char *str, uint64_t *milli)
{
	uint64_t	 n = 0;
	int		 places = -1;

	if (!isdigit((unsigned char)*str))
		return (-1);
	for (; *str != '\0'; str++) {
		if (*str == '.' && places == -1 && str[1] != '\0') {
			places = 0;
			continue;
		}
		if (!isdigit((unsigned char)*str) || places == 3 ||
		    n > UINT32_MAX)
			return (-1);
		n = n * 10 + (*str - '0');
		if (places != -1)
			places++;
	}
	for (places = places == -1 ? 0 : places; places < 3; places++)
		n *= 10;
	if (n == 0)
		return (-1);
	*milli = n;
	return (0);
}

/*
 * Seconds, or with s, m, h, d or w, with at most three decimal places, in
 * ms; none and 0 for no end.
 */
int
parse_span(const char *str, uint64_t *ms)
{
	static const char	 units[] = "smhdw";
	static const uint32_t	 secs[] = { 1, 60, 3600, 86400, 604800 };
	const char		*unit;
	char			 num[32];
	size_t			 len = strlen(str);
	uint64_t		 n;

	if (strcmp(str, "none") == 0 || strcmp(str, "0") == 0) {
		*ms = SBX_TIME_NONE;
		return (0);
	}
	if (len == 0 || len >= sizeof(num))
		return (-1);
	strlcpy(num, str, sizeof(num));
	if ((unit = strchr(units, num[len - 1])) != NULL)
		num[len - 1] = '\0';
	else
		unit = units;
	if (parse_milli(num, &n) == -1 ||
	    n > SBX_TIME_MAX / secs[unit - units])
		return (-1);
	*ms = n * secs[unit - units];
	return (0);
}

/* A number, or a name with or without SIG; 0 if it is none. */
int
parse_signal(const char *str)
{
	const char	*errstr, *name;
	int		 i;

	if (isdigit((unsigned char)*str)) {
		i = strtonum(str, 1, 64, &errstr);
		return (errstr == NULL ? i : 0);
	}
	if (strncasecmp(str, "SIG", 3) == 0)
		str += 3;
	for (i = 1; i < NSIG; i++)
		if ((name = sigabbrev_np(i)) != NULL &&
		    strcasecmp(name, str) == 0)
			return (i);
	return (0);
}

/*
 * name=value into a vector; a name alone where the command allows it.  Of two
 * values for one name it would be a guess which is meant.
 */
int
parse_pair(struct kvv *kvv, const char *str, int keys)
{
	const char	*eq = strchr(str, '=');
	char		*name;
	int		 ret = -1;

	if (eq == str || *str == '\0' || (eq == NULL && !keys))
		return (-1);
	if ((name = strndup(str, eq == NULL ? strlen(str) :
	    (size_t)(eq - str))) == NULL)
		return (-1);
	if (kvv_get(kvv, name) != NULL)
		ret = PARSE_TWICE;
	else
		ret = kvv_set(kvv, name, eq == NULL ? "" : eq + 1);
	free(name);
	return (ret);
}

/* name-, which no name of a label ends in. */
int
parse_minus(struct strv *strv, const char *str)
{
	size_t	 len = strlen(str);
	char	*name;
	int	 ret;

	if (len < 2 || str[len - 1] != '-' ||
	    (name = strndup(str, len - 1)) == NULL)
		return (-1);
	ret = strv_add(strv, name);
	free(name);
	return (ret);
}

/* strtonum(3) would also take a sign and blanks before the number. */
int
parse_number(const char *str, long long min, long long max, uint64_t *n)
{
	const char	*errstr;

	if (!isdigit((unsigned char)*str))
		return (-1);
	*n = strtonum(str, min, max, &errstr);
	return (errstr == NULL ? 0 : -1);
}

int
parse_stream(const char *str, int *stream)
{
	if (strcmp(str, "stdout") == 0)
		*stream = 1;
	else if (strcmp(str, "stderr") == 0)
		*stream = 2;
	else
		return (-1);
	return (0);
}

int
parse_keys(const char *str, const char **out)
{
	struct term_keys	 keys;

	if (term_keys(&keys, str) == -1)
		return (-1);
	*out = str;
	return (0);
}
