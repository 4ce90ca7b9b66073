/*
 * keys.c: the keys that one leaves a terminal by, among those that are typed.
 */

#include <ctype.h>
#include <string.h>

#include "sandboxctl.h"

/* One key: itself, or as ctrl-x. */
static int
key_parse(const char *s, size_t len, unsigned char *key)
{
	if (len == 1 && *s > ' ' && *s < 127) {
		*key = *s;
		return (0);
	}
	if (len != 6 || strncmp(s, "ctrl-", 5) != 0)
		return (-1);
	if (isalpha((unsigned char)s[5]))
		*key = toupper((unsigned char)s[5]) & 0x1f;
	else if (strchr("@[\\]^_", s[5]) != NULL)
		*key = s[5] & 0x1f;
	else
		return (-1);
	return (0);
}

/* Keys with commas between; none for none. */
int
term_keys(struct term_keys *k, const char *s)
{
	size_t	 len;

	memset(k, 0, sizeof(*k));
	if (strcmp(s, "none") == 0)
		return (0);
	for (;; s += len + 1) {
		len = strcspn(s, ",");
		if (k->n == TERM_KEYS_MAX ||
		    key_parse(s, len, &k->key[k->n++]) == -1)
			return (-1);
		if (s[len] == '\0')
			return (0);
	}
}

/*
 * What was typed, without the keys to leave by: of these the first ones are
 * held back until it is known what follows.  out has room for TERM_KEYS_MAX
 * more than in.  Returns what was used of in; *n is what is in out.  When the
 * last of the keys was met, held is all of them.
 */
ssize_t
term_filter(struct term_keys *k, const unsigned char *in, size_t len,
    unsigned char *out, size_t *n)
{
	size_t	 i, was;

	*n = 0;
	for (i = 0; i < len; i++) {
		while (k->n > 0 && in[i] != k->key[k->held] && k->held > 0) {
			/* As much of it as may still be a beginning. */
			was = k->held--;
			out[(*n)++] = k->key[0];
			while (k->held > 0 && memcmp(k->key, k->key + was -
			    k->held, k->held) != 0)
				out[(*n)++] = k->key[was - k->held--];
		}
		if (k->n == 0 || in[i] != k->key[k->held]) {
			out[(*n)++] = in[i];
			continue;
		}
		if (++k->held == k->n)
			return (i + 1);
	}
	return (len);
}
