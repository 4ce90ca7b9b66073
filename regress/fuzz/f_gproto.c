/* What a guest sends, and what a runner sends: any bytes. */

#include <sys/types.h>

#include <stdint.h>
#include <stdlib.h>

#include "gproto.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
decode(const struct gp_frame *f)
{
	union {
		struct gp_hello		 hello;
		struct gp_welcome	 welcome;
		struct gp_state		 state;
		struct gp_states_end	 states_end;
		struct gp_start		 start;
		struct gp_resume	 resume;
		struct gp_started	 started;
		struct gp_not_started	 not_started;
		struct gp_output	 output;
		struct gp_ack		 ack;
		struct gp_input		 input;
		struct gp_input_ack	 input_ack;
		struct gp_input_end	 input_end;
		struct gp_signal	 sig;
		struct gp_cancel	 cancel;
		struct gp_exit		 exit;
		struct gp_background	 background;
		struct gp_stop		 stop;
		struct gp_call		 call;
		struct gp_call_end	 call_end;
		struct gp_output_end	 output_end;
		struct gp_changed	 changed;
	} u;

	/* Each decoder on each frame: it must know which are its own. */
	(void)gp_decode_hello(&u.hello, f);
	(void)gp_decode_welcome(&u.welcome, f);
	(void)gp_decode_state(&u.state, f);
	(void)gp_decode_states_end(&u.states_end, f);
	(void)gp_decode_start(&u.start, f);
	(void)gp_decode_resume(&u.resume, f);
	(void)gp_decode_started(&u.started, f);
	(void)gp_decode_not_started(&u.not_started, f);
	(void)gp_decode_output(&u.output, f);
	(void)gp_decode_ack(&u.ack, f);
	(void)gp_decode_input(&u.input, f);
	(void)gp_decode_input_ack(&u.input_ack, f);
	(void)gp_decode_input_end(&u.input_end, f);
	(void)gp_decode_signal(&u.sig, f);
	(void)gp_decode_cancel(&u.cancel, f);
	(void)gp_decode_exit(&u.exit, f);
	(void)gp_decode_background(&u.background, f);
	(void)gp_decode_stop(&u.stop, f);
	(void)gp_decode_call(&u.call, f);
	(void)gp_decode_call_end(&u.call_end, f);
	(void)gp_decode_output_end(&u.output_end, f);
	(void)gp_decode_changed(&u.changed, f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct gp_frame	 f;
	uint8_t		*p;
	enum gp_sender	 who;
	size_t		 off = 0;
	int		 n;

	if (len < 1)
		return (0);
	who = data[0] & 1 ? GP_GUEST : GP_RUNNER;
	/* Memory of exactly this size, so that an overrun is seen. */
	if ((p = malloc(len)) == NULL)
		abort();
	for (n = 1; (size_t)n < len; n++)
		p[n - 1] = data[n];
	len--;
	while (off < len &&
	    (n = gp_get(&f, p + off, len - off, who)) == 1) {
		if (f.total > len - off)
			abort();
		decode(&f);
		off += f.total;
	}
	free(p);
	return (0);
}
