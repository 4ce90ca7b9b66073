/*
 * The one place that knows where libcurl is; see engine_curl.h for the reason.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "engine_curl.h"

/* The name of the ABI, which the header in use belongs to. */
#define ENGINE_CURL_SONAME	"libcurl.so.4"

struct engine_curl	 lcurl;

#define SYM(f, n)	{ n, offsetof(struct engine_curl, f) }

static const struct {
	const char	*name;
	size_t		 off;
} engine_curl_syms[] = {
	SYM(global_init_mem, "curl_global_init_mem"),
	SYM(global_cleanup, "curl_global_cleanup"),
	SYM(slist_append, "curl_slist_append"),
	SYM(slist_free_all, "curl_slist_free_all"),
	SYM(easy_init, "curl_easy_init"),
	SYM(easy_cleanup, "curl_easy_cleanup"),
	SYM(easy_setopt, "curl_easy_setopt"),
	SYM(easy_getinfo, "curl_easy_getinfo"),
	SYM(easy_pause, "curl_easy_pause"),
	SYM(easy_strerror, "curl_easy_strerror"),
	SYM(multi_init, "curl_multi_init"),
	SYM(multi_cleanup, "curl_multi_cleanup"),
	SYM(multi_setopt, "curl_multi_setopt"),
	SYM(multi_add_handle, "curl_multi_add_handle"),
	SYM(multi_remove_handle, "curl_multi_remove_handle"),
	SYM(multi_socket_action, "curl_multi_socket_action"),
	SYM(multi_assign, "curl_multi_assign"),
	SYM(multi_info_read, "curl_multi_info_read"),
};

int
engine_curl_load(const char **errstr)
{
	void	*lib, *p;
	size_t	 i;

	*errstr = NULL;
	if (lcurl.global_init_mem != NULL)
		return (0);
	if ((lib = dlopen(ENGINE_CURL_SONAME, RTLD_NOW | RTLD_LOCAL)) == NULL) {
		*errstr = dlerror();
		return (-1);
	}
	for (i = 0; i < sizeof(engine_curl_syms) / sizeof(engine_curl_syms[0]);
	    i++) {
		if ((p = dlsym(lib, engine_curl_syms[i].name)) == NULL) {
			*errstr = dlerror();
			memset(&lcurl, 0, sizeof(lcurl));
			dlclose(lib);
			return (-1);
		}
		memcpy((char *)&lcurl + engine_curl_syms[i].off, &p, sizeof(p));
	}
	/*
	 * No TLS, no resolver: the Engine is on a local socket.  The version
	 * of everything that is used here is older than what Debian 12 has.
	 */
	if (lcurl.global_init_mem(CURL_GLOBAL_NOTHING, alloc_malloc, free,
	    alloc_realloc, alloc_strdup, alloc_calloc) != CURLE_OK) {
		*errstr = "libcurl does not start";
		memset(&lcurl, 0, sizeof(lcurl));
		dlclose(lib);
		return (-1);
	}
	return (0);
}
