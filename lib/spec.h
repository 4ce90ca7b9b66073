/*
 * Checks of a request's fields beyond what the codec's tables say: grammars,
 * ranges and totals.  sandboxctl uses them for early answers, the frontend
 * to refuse, and the store again, since it trusts no frontend.
 */
#ifndef SPEC_H
#define SPEC_H

#include <sys/types.h>

#include <stdint.h>

#include "proto.h"

struct spec_error {
	enum code	 code;
	char		 field[FIELD_MAX + 1];	/* "" if none */
	char		 text[TEXT_MAX + 1];	/* names value and limit */
};

/*
 * A request of any type: 0, or -1 with the error.  msg is the decoded
 * structure of proto_def(type), NULL for types without fields.
 */
int	 spec_check(uint32_t type, const void *msg, struct spec_error *);

/* The error of what the codec refused, by what it has told. */
void	 spec_refuse(const struct msg_def *, const char *field,
	    const char *why, struct spec_error *);

/* Single grammars: 1 if it is good, else 0. */
int	 spec_valid_id(const char *);		/* of a sandbox */
int	 spec_valid_image(const char *);	/* name[:tag], registry/name */
int	 spec_valid_label_key(const char *);
int	 spec_valid_label_value(const char *);
int	 spec_valid_env_name(const char *);
int	 spec_valid_dir(const char *);		/* absolute, no dot-dot */
int	 spec_valid_source(const char *);	/* of a mount, on the host */
int	 spec_valid_target(const char *);	/* and its place inside */
/* Is it that directory or below it?  And: is one of them below the other? */
int	 spec_path_below(const char *, const char *);
int	 spec_paths_meet(const char *, const char *);
int	 spec_valid_state(const char *);	/* of a sandbox */
int	 spec_valid_type(const char *);		/* of events; its start */
int	 spec_valid_utf8(const char *);
int	 spec_valid_text(const char *);		/* UTF-8, no control characters */

/* "": SPEC_USER_DEFAULT, "root" and "0": 0, a number: it; -1 if none. */
#define SPEC_USER_DEFAULT	-2
int64_t	 spec_user(const char *);

/* "id", "uid/id", "id.number", "uid/id.number". */
struct spec_ref {
	int64_t		 owner;		/* -1: not named */
	char		 id[SBX_ID_MAX + 1];
	uint64_t	 number;	/* of an exec; 0: not named */
};
int	 spec_parse_ref(const char *, struct spec_ref *);

#endif
