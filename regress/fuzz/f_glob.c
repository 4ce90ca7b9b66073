/*
 * A pattern of names against a path.  What matches must also be looked for in
 * each directory above it: nothing may be passed over with its directory.
 */

#include "fuzz.h"
#include "tool.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz	 f = { data, len }, rest;
	struct glob	 g;
	char		*pattern, *path, *p;
	size_t		 n;
	int		 flags;

	flags = fuzz_u8(&f) & (GLOB_NODOT | GLOB_ANYDEPTH);
	/* Up to the first NUL, and from there on. */
	n = strnlen((const char *)f.p, f.len);
	rest.p = f.p + n;
	rest.len = f.len - n;
	fuzz_u8(&rest);
	pattern = fuzz_string(&f);
	path = fuzz_string(&rest);
	if (glob_compile(&g, pattern, flags) == 0) {
		/* As a walk gives them: no empty segment. */
		if (*path != '\0' && *path != '/' &&
		    strstr(path, "//") == NULL &&
		    path[strlen(path) - 1] != '/' &&
		    glob_match(&g, path, 1))
			while ((p = strrchr(path, '/')) != NULL) {
				*p = '\0';
				need(glob_below(&g, path));
			}
		glob_free(&g);
	}
	free(pattern);
	free(path);
	return (0);
}
