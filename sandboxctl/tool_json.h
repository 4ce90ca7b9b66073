/* tool_json.h: the answers of the tools, see tool_json.c. */

#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdint.h>
#include <stdio.h>

#include "libsandbox.h"

void	 tool_json_base64(FILE *, const void *, size_t);
void	 tool_json_text(FILE *, const void *, size_t);
void	 tool_json_file(FILE *, const struct file_rec *);
void	 tool_json_match(FILE *, const struct grep_rec *);
void	 tool_json_bounds(FILE *, const struct proto_result *);
void	 tool_json_read(FILE *, const char *,
	    const struct sandbox_tool_text *);
void	 tool_json_written(FILE *, const char *, uint64_t, int);
void	 tool_json_count(FILE *, const char *, const char *, uint64_t);
void	 tool_json_done(FILE *, const struct sandbox_tool_file *, int);
void	 tool_json_output(FILE *, const struct sandbox_tool_output *);

#endif
