/*
 * What the sanitizers do in our programs; only their build has it.
 *
 * The processes are confined and their environment is made anew, so neither
 * the look for leaks, which traces the process, nor ASAN_OPTIONS would work.
 */

#ifdef ASAN
const char	*__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return ("detect_leaks=0:abort_on_error=1:handle_abort=0");
}
#else
/* A file without a declaration is no C. */
typedef int	 asan_unused;
#endif
