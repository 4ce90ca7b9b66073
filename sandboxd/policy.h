/*
 * What the configuration lets the broker ask of the Engine, and the one way
 * in which it asks.  The rules come from the parent; what is asked for comes
 * from the store, in typed fields, and is not trusted.
 */
#ifndef POLICY_H
#define POLICY_H

#include <sys/types.h>

#include <jansson.h>
#include <stdint.h>

#include "sandboxd.h"

#define POLICY_NAME_MAX		64	/* of a container of ours */
#define POLICY_IMAGE_ID_MAX	80	/* "sha256:" and 64 digits */
#define POLICY_WHY_MAX		256

struct policy {
	/* The parent's word. */
	struct msg_conf		 conf;
	struct msg_conf_rule	*rules;
	size_t			 nrules;
	/* The Engine's word about itself. */
	const char		*arch;		/* of a seccomp profile */
	char			 runtime[64];	/* its default one */
	unsigned int		 missing;	/* UNENFORCED_*: cannot */
	int			 live_restore;
	uint32_t		 ncpu;
};

/* One container: what was asked for, and what we add to it. */
struct policy_box {
	const struct msg_box_create	*req;
	char				 image[POLICY_IMAGE_ID_MAX];
	uint64_t			 tmp;	/* bytes of /tmp */
	char				*guest;	/* its path on the host */
};

struct policy_error {
	enum code	 code;
	char		 field[FIELD_MAX + 1];
	char		 text[POLICY_WHY_MAX];
};

/* policy.c: what may be asked for. */

/* The last rule that matches decides; with no rule, the default image. */
int	 policy_image_allowed(const struct msg_conf *,
	    const struct msg_conf_rule *, size_t, const char *);
/* 0, or -1 with the error. */
int	 policy_refuse(const struct policy *, const struct msg_box_create *,
	    struct policy_error *);
int	 policy_refuse_disk(const struct policy *,
	    const struct msg_box_create *, struct policy_error *);
int	 policy_refuse_volumes(const struct msg_box_create *, const json_t *,
	    struct policy_error *);
int	 policy_refuse_image(const struct policy *, const char *,
	    struct policy_error *);
/* Takes what /info says and the architecture that /version says. */
int	 policy_engine(struct policy *, const char *, const json_t *,
	    char *, size_t);
/* Does the inspected image bear that name, and is not found by its ID? */
int	 policy_image_is(const json_t *, const char *);
void	 policy_clear(struct policy *);

/* policy_build.c: how it is asked for. */

/* The body of create; a new reference. */
json_t	*policy_build(const struct policy *, const struct policy_box *);
/* That of update: the limits alone. */
json_t	*policy_build_limits(const struct policy *,
	    const struct msg_box_create *);
void	 policy_name(const struct policy *, uint64_t, char *, size_t);
/* Where the host has the i-th of a sandbox's mounts of its client's. */
void	 policy_mount_path(const struct policy *, uint64_t, size_t, char *,
	    size_t);
/* The number in a name of ours; 0 if it is none. */
uint64_t policy_number(const struct policy *, const char *);

/* policy_check.c: whether that is what came out. */

/*
 * Compares the inspected container with what policy_build() makes of the box,
 * and with the inspected image (NULL: it is gone).  -1 with the field.
 */
int	 policy_check(const struct policy *, const struct policy_box *,
	    const json_t *, const json_t *, char *, size_t);
/*
 * What there is to be known of the controls of a container that was inspected
 * when it ran; of the box comes what it should be.
 */
void	 policy_facts(const struct policy *, const struct policy_box *,
	    const json_t *, struct msg_facts *);
/*
 * Reads back from an inspected container of ours what was asked for when it
 * was made, so that the same rules and the same comparison hold for it.
 */
int	 policy_derive(const struct policy *, uint64_t, const json_t *,
	    struct msg_box_create *, struct policy_box *);
/* Has it, as it was derived, the limits that are asked for? */
int	 policy_limited(const struct policy *, const struct msg_box_create *,
	    const struct msg_box_update *);
/* Is it the container of that number (not 0), by label and by name? */
int	 policy_ours(const struct policy *, const json_t *, uint64_t);

/* seccomp_profile.c */

/* The profile's word for an architecture, NULL if there is no profile. */
const char	*seccomp_arch(const char *);
const char	*seccomp_engine(const char *);	/* and back */
char		*seccomp_profile(const char *);

#endif /* POLICY_H */
