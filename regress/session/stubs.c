/* What the table of a session's requests names; here none of them runs. */

#include "session.h"

#define BEGIN(name)							\
int									\
name(struct call *c)							\
{									\
	(void)c;							\
	return (-1);							\
}

BEGIN(job_begin) BEGIN(job_input) BEGIN(call_cancel) BEGIN(call_credit)
BEGIN(call_version) BEGIN(ctl_begin)
BEGIN(file_begin) BEGIN(tool_begin)
