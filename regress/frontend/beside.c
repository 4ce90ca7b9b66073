#include <sys/types.h>

#include <atf-c.h>

#include "beside.h"

struct fe	 fe;
struct cl	 good;
uint32_t	 good_req;

void
begin(void)
{
	fe_start(&fe);
	cl_greet(&fe, &good, 1);
	good_req = 1;
}

void
alive(void)
{
	fe_log(&fe, "; 1 clients, of the uid 0 with 0 short and 0 long");
	cl_ping(&fe, &good, ++good_req);
}

void
finish(void)
{
	cl_close(&good);
	fe_log(&fe, "; 0 clients, of the uid 0 with 0 short and 0 long");
	ATF_CHECK_EQ(0, fe_stop(&fe));
}
