/* And what writes a file as a whole, which knows of calls. */

#include "../../sandboxd/guest/fs_path.c"
#include "../../sandboxd/guest/tool_write.c"
