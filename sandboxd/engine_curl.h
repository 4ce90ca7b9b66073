/*
 * libcurl, loaded by hand.
 *
 * All processes of sandboxd are one program, and linking libcurl would cost
 * each of them five milliseconds and the address space of a TLS library at
 * every start.  Only the broker calls engine_curl_load().
 */
#ifndef ENGINE_CURL_H
#define ENGINE_CURL_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

struct engine_curl {
	CURLcode		 (*global_init_mem)(long,
				    curl_malloc_callback, curl_free_callback,
				    curl_realloc_callback,
				    curl_strdup_callback,
				    curl_calloc_callback);
	void			 (*global_cleanup)(void);
	struct curl_slist	*(*slist_append)(struct curl_slist *,
				    const char *);
	void			 (*slist_free_all)(struct curl_slist *);
	CURL			*(*easy_init)(void);
	void			 (*easy_cleanup)(CURL *);
	CURLcode		 (*easy_setopt)(CURL *, CURLoption, ...);
	CURLcode		 (*easy_getinfo)(CURL *, CURLINFO, ...);
	CURLcode		 (*easy_pause)(CURL *, int);
	const char		*(*easy_strerror)(CURLcode);
	CURLM			*(*multi_init)(void);
	CURLMcode		 (*multi_cleanup)(CURLM *);
	CURLMcode		 (*multi_setopt)(CURLM *, CURLMoption, ...);
	CURLMcode		 (*multi_add_handle)(CURLM *, CURL *);
	CURLMcode		 (*multi_remove_handle)(CURLM *, CURL *);
	CURLMcode		 (*multi_socket_action)(CURLM *, curl_socket_t,
				    int, int *);
	CURLMcode		 (*multi_assign)(CURLM *, curl_socket_t,
				    void *);
	CURLMsg			*(*multi_info_read)(CURLM *, int *);
};

extern struct engine_curl	 lcurl;

/* 0, or -1 with the reason in errstr. */
int	 engine_curl_load(const char **);

#endif /* ENGINE_CURL_H */
