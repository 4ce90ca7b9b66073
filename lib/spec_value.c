/* The grammars of single values: identifiers, images, labels, references. */

#include <sys/types.h>

#include <ctype.h>
#include <string.h>

#include "spec.h"

static const char lower[] = "abcdefghijklmnopqrstuvwxyz0123456789";
static const char words[] = "abcdefghijklmnopqrstuvwxyz._-";

static int
all_of(const char *s, size_t len, const char *set)
{
	size_t	 i;

	for (i = 0; i < len; i++)
		if (s[i] == '\0' || strchr(set, s[i]) == NULL)
			return (0);
	return (1);
}

static int
is_alnum(char c)
{
	return (isalnum((unsigned char)c) && (unsigned char)c < 0x80);
}

int
spec_valid_id(const char *s)
{
	size_t	 i, len = strlen(s);

	if (len < 1 || len > SBX_ID_MAX || !is_alnum(s[0]))
		return (0);
	for (i = 1; i < len; i++)
		if (!is_alnum(s[i]) && s[i] != '_' && s[i] != '-')
			return (0);
	return (1);
}

/* Lower-case words, joined by a dot, one or two underscores, or dashes. */
static int
image_component(const char *s, size_t len)
{
	size_t	 i = 0, sep, k;

	for (;;) {
		if (i == len || !all_of(s + i, 1, lower))
			return (0);
		while (i < len && all_of(s + i, 1, lower))
			i++;
		if (i == len)
			return (1);
		for (sep = 0; i + sep < len &&
		    !all_of(s + i + sep, 1, lower); sep++)
			;
		if (s[i] == '.')
			k = 1;
		else if (s[i] == '_')
			k = sep == 2 && s[i + 1] == '_' ? 2 : 1;
		else {
			for (k = 0; k < sep && s[i + k] == '-'; k++)
				;
		}
		if (k == 0 || k != sep)
			return (0);
		i += sep;
	}
}

/* host[:port]; what makes a first component a host is in image_name(). */
static int
image_host(const char *s, size_t len)
{
	const char	*colon;
	size_t		 hlen = len, i;

	if ((colon = memchr(s, ':', len)) != NULL) {
		hlen = colon - s;
		if (len - hlen < 2 || len - hlen > 6 ||
		    !all_of(colon + 1, len - hlen - 1, "0123456789"))
			return (0);
	}
	if (hlen == 0 || !is_alnum(s[0]) || !is_alnum(s[hlen - 1]))
		return (0);
	for (i = 0; i < hlen; i++)
		if (!is_alnum(s[i]) && s[i] != '-' &&
		    (s[i] != '.' || s[i + 1] == '.'))
			return (0);
	return (1);
}

static int
image_name(const char *s, size_t len)
{
	const char	*slash;
	size_t		 part;
	int		 first = 1;

	for (;;) {
		slash = memchr(s, '/', len);
		part = slash == NULL ? len : (size_t)(slash - s);
		if (first && slash != NULL &&
		    (memchr(s, '.', part) != NULL ||
		    memchr(s, ':', part) != NULL ||
		    (part == 9 && memcmp(s, "localhost", 9) == 0))) {
			if (!image_host(s, part))
				return (0);
		} else if (!image_component(s, part))
			return (0);
		if (slash == NULL)
			return (1);
		s += part + 1;
		len -= part + 1;
		first = 0;
	}
}

int
spec_valid_image(const char *s)
{
	const char	*at, *tag, *slash;
	size_t		 len = strlen(s), i;

	if (len < 1 || len > SBX_IMAGE_MAX)
		return (0);
	if ((at = strchr(s, '@')) != NULL) {
		if (strncmp(at + 1, "sha256:", 7) != 0 ||
		    strlen(at + 8) != 64 ||
		    !all_of(at + 8, 64, "0123456789abcdef"))
			return (0);
		len = at - s;
	}
	/* A colon before the last slash belongs to a host's port. */
	slash = memrchr(s, '/', len);
	tag = memrchr(s, ':', len);
	if (tag != NULL && (slash == NULL || tag > slash)) {
		for (i = tag - s + 1; i < len; i++)
			if (!is_alnum(s[i]) && s[i] != '_' &&
			    ((s[i] != '.' && s[i] != '-') || s + i == tag + 1))
				return (0);
		i = len - (tag - s + 1);
		if (i < 1 || i > 128)
			return (0);
		len = tag - s;
	}
	return (image_name(s, len));
}

int
spec_valid_label_key(const char *s)
{
	size_t	 i, len = strlen(s);

	if (len < 1 || len > SBX_LABEL_KEY_MAX || !is_alnum(s[0]) ||
	    !is_alnum(s[len - 1]))
		return (0);
	for (i = 0; i < len; i++)
		if (!is_alnum(s[i]) && strchr("._/-", s[i]) == NULL)
			return (0);
	return (1);
}

/* Well-formed UTF-8, shortest forms only, no surrogates. */
int
spec_valid_utf8(const char *str)
{
	const unsigned char	*s = (const unsigned char *)str;
	uint32_t		 c, min;
	int			 n;

	while (*s != '\0') {
		if (*s < 0x80) {
			s++;
			continue;
		}
		if (*s >= 0xc2 && *s <= 0xdf) {
			n = 1;
			min = 0x80;
			c = *s & 0x1f;
		} else if (*s >= 0xe0 && *s <= 0xef) {
			n = 2;
			min = 0x800;
			c = *s & 0x0f;
		} else if (*s >= 0xf0 && *s <= 0xf4) {
			n = 3;
			min = 0x10000;
			c = *s & 0x07;
		} else
			return (0);
		for (s++; n > 0; n--, s++) {
			if ((*s & 0xc0) != 0x80)
				return (0);
			c = c << 6 | (*s & 0x3f);
		}
		if (c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
			return (0);
	}
	return (1);
}

static int
has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return (1);
	return (0);
}

int
spec_valid_text(const char *s)
{
	return (!has_control(s) && spec_valid_utf8(s));
}

int
spec_valid_label_value(const char *s)
{
	return (strlen(s) <= SBX_LABEL_VALUE_MAX && spec_valid_text(s));
}

int
spec_valid_type(const char *s)
{
	return (all_of(s, strlen(s), words));
}

int
spec_valid_env_name(const char *s)
{
	size_t	 i;

	if (s[0] != '_' && (!is_alnum(s[0]) || isdigit((unsigned char)s[0])))
		return (0);
	for (i = 1; s[i] != '\0'; i++)
		if (!is_alnum(s[i]) && s[i] != '_' && s[i] != '.' &&
		    s[i] != '-')
			return (0);
	return (1);
}

int
spec_valid_dir(const char *s)
{
	const char	*p;

	if (s[0] != '/' || strlen(s) > SBX_DIR_MAX || has_control(s))
		return (0);
	for (p = s; (p = strstr(p, "/..")) != NULL; p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return (0);
	return (1);
}

int
spec_valid_state(const char *s)
{
	static const char *const	 states[] = {
		"pending", "ready", "pausing", "paused", "stopping",
		"stopped", "resuming", "deleting", "deleted", "failed"
	};
	size_t				 i;

	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(s, states[i]) == 0)
			return (1);
	return (0);
}

/* A decimal number without sign, blank or leading zero: 0, or -1. */
static int
decimal(const char *s, size_t len, uint64_t max, uint64_t *v)
{
	size_t	 i;

	if (len < 1 || len > 20 || (s[0] == '0' && len > 1))
		return (-1);
	*v = 0;
	for (i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return (-1);
		if (*v > (max - (s[i] - '0')) / 10)
			return (-1);
		*v = *v * 10 + (s[i] - '0');
	}
	return (0);
}

int64_t
spec_user(const char *s)
{
	uint64_t	 v;

	if (*s == '\0')
		return (SPEC_USER_DEFAULT);
	if (strcmp(s, "root") == 0)
		return (0);
	/* The last number means "none" to the kernel. */
	if (decimal(s, strlen(s), UINT32_MAX - 1, &v) == -1)
		return (-1);
	return (v);
}

int
spec_parse_ref(const char *s, struct spec_ref *ref)
{
	const char	*slash, *dot;
	uint64_t	 v;
	size_t		 len;

	ref->owner = -1;
	ref->number = 0;
	if ((slash = strchr(s, '/')) != NULL) {
		if (decimal(s, slash - s, UINT32_MAX - 1, &v) == -1)
			return (-1);
		ref->owner = v;
		s = slash + 1;
	}
	len = strlen(s);
	if ((dot = strchr(s, '.')) != NULL) {
		len = dot - s;
		if (decimal(dot + 1, strlen(dot + 1), UINT64_MAX, &v) == -1 ||
		    v == 0)
			return (-1);
		ref->number = v;
	}
	if (len > SBX_ID_MAX)
		return (-1);
	memcpy(ref->id, s, len);
	ref->id[len] = '\0';
	return (spec_valid_id(ref->id) ? 0 : -1);
}
