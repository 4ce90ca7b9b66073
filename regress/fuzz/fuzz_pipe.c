/* See fuzz_pipe.h. */

#include <unistd.h>

#include "fuzz.h"
#include "fuzz_pipe.h"
#include "sandboxd.h"

void
fuzz_sound(const struct msg_def *def, const void *msg)
{
	static uint64_t	 room[1024];
	msgpack_sbuffer	 sb;

	need(def != NULL && def->size <= sizeof(room));
	msgpack_sbuffer_init(&sb);
	need(msg_encode_array(&sb, def, msg) == 0);
	need(msg_decode_array(room, def, (uint8_t *)sb.data, sb.size) == 0);
	msg_clear(room, def);
	msgpack_sbuffer_destroy(&sb);
}

void
proc_serve(uint64_t who)
{
}

void
rights_begin(int fd)
{
}

int
rights_end(void)
{
	return (0);
}

void
rights_close(int fd)
{
	close(fd);
}
