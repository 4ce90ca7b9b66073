/* The guest's tools, compiled for the tests' C library. */

#include "../../sandboxd/guest/tool_edit.c"
#include "../../sandboxd/guest/tool_find.c"
#include "../../sandboxd/guest/tool_glob.c"
#include "../../sandboxd/guest/tool_grep.c"
#include "../../sandboxd/guest/tool_match.c"
#include "../../sandboxd/guest/tool_read.c"
#include "../../sandboxd/guest/tool_regex.c"
#include "../../sandboxd/guest/tool_walk.c"
