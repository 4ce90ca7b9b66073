/*
 * Messages: C structures that a table of fields describes.
 *
 * One table serves both encodings: an array in the table's order between
 * the children, and a map by the fields' names towards clients.  Decoding
 * walks the bytes before it unpacks anything, since msgpack-c allocates by
 * the count that a peer declares, and refuses wrong counts, types, unknown
 * and double keys, NULs in strings, and bytes left over.
 *
 * A table that is also the form of a row of the database, or of a message of
 * the client protocol, grows at its end alone.  No field of it is ever taken
 * out, moved, narrowed or given another meaning, and 0 or the empty value of
 * a new one means what was so before it was there: then rows and messages of
 * each version are read by each other.
 */
#ifndef MSG_H
#define MSG_H

#include <stddef.h>
#include <stdint.h>

/* Messages are small: the first buffer is one that malloc(3) has at hand. */
#ifndef MSGPACK_SBUFFER_INIT_SIZE
#define MSGPACK_SBUFFER_INIT_SIZE	512
#endif
#include <msgpack.h>

struct blob {
	uint8_t		*data;
	size_t		 len;
};

struct strv {			/* strings without NUL, else any byte */
	char	       **v;	/* v[n] is NULL when n > 0 */
	size_t		 n;
};

struct kv {
	char		*k;
	char		*v;
};

struct kvv {
	struct kv	*v;
	size_t		 n;
};

struct u64v {
	uint64_t	*v;
	size_t		 n;
};

enum msg_kind {
	M_UINT,		/* uint8_t, uint16_t, uint32_t or uint64_t */
	M_INT,		/* int32_t or int64_t */
	M_STR,		/* char [size], NUL-terminated */
	M_TEXT,		/* char *, allocated; never NULL after decoding */
	M_BLOB,		/* struct blob */
	M_STRV,		/* struct strv */
	M_KVV,		/* struct kvv */
	M_U64V		/* struct u64v */
};

/* What a row of a newer program has behind the fields that we know. */
struct msg_rest {
	char		*data;		/* n values, one behind the other */
	size_t		 len;
	size_t		 n;
};

/* A field that may be missing in a map, and is left out when it is zero. */
#define M_OPT	0x1

struct msg_field {
	const char	*name;
	enum msg_kind	 kind;
	size_t		 off;
	size_t		 size;	/* of the member */
	uint64_t	 max;	/* value, bytes, or entries; 0: by the size */
	int		 flags;
};

struct msg_def {
	uint32_t		 type;
	const char		*name;
	size_t			 size;	/* of the structure */
	const struct msg_field	*fields;
	size_t			 nfields;
};

#define MSG_F(st, member, kind, max, flags)				\
	{ #member, kind, offsetof(struct st, member),			\
	    sizeof(((struct st *)0)->member), max, flags }
#define MSG_DEF(type, name, st, fields)					\
	{ type, name, sizeof(struct st), fields,			\
	    sizeof(fields) / sizeof((fields)[0]) }
/* A message without fields. */
#define MSG_DEF_EMPTY(type, name)	{ type, name, 0, NULL, 0 }

/* The largest value, bytes or entries that a field may have. */
uint64_t msg_max(const struct msg_field *);

/*
 * Walks one msgpack object: 0 if it is whole, is all there is, its depth is
 * at most `depth' and every count fits in the bytes that are there.
 */
int	msg_scan(const uint8_t *, size_t, int depth);

/* Append the encoding; -1 with errno ENOMEM or EMSGSIZE. */
int	msg_encode_array(msgpack_sbuffer *, const struct msg_def *,
	    const void *);
int	msg_encode_map(msgpack_sbuffer *, const struct msg_def *,
	    const void *);
/* The first field behind so many that is not empty, or NULL. */
const char *msg_beyond(const struct msg_def *, const void *, size_t);
/* Only the first so many fields: who reads it does not know the others. */
int	msg_encode_map_first(msgpack_sbuffer *, const struct msg_def *,
	    const void *, size_t);

/*
 * Decode into a structure of def->size bytes, which is zeroed first.  On
 * failure nothing is left allocated and -1 is returned; *field, when not
 * NULL, then names the field at fault or is NULL, and *why a text such as
 * "too long".  What M_TEXT and the vectors hold belongs to the caller, who
 * ends with msg_clear().
 */
int	msg_decode_array(void *, const struct msg_def *, const uint8_t *,
	    size_t);
int	msg_decode_map(void *, const struct msg_def *, const uint8_t *,
	    size_t, const char **field, const char **why);
void	msg_clear(void *, const struct msg_def *);

/*
 * Rows, which programs of other versions have written: the first so many
 * fields must be there, those behind are zero where they are missing, and
 * what follows those that we know is kept in rest, to be written back.
 */
int	msg_encode_row(msgpack_sbuffer *, const struct msg_def *,
	    const void *, const struct msg_rest *);
int	msg_decode_row(void *, const struct msg_def *, size_t first,
	    const uint8_t *, size_t, struct msg_rest *);
void	msg_rest_clear(struct msg_rest *);
/* The same of a map, of which what we do not know is passed over. */
int	msg_decode_map_newer(void *, const struct msg_def *, size_t first,
	    const uint8_t *, size_t, const char **field, const char **why);
/* A deep copy; the source stays its owner's.  -1 with errno ENOMEM. */
int	msg_copy(void *, const void *, const struct msg_def *);

/* Vectors.  -1 with errno ENOMEM. */
int	strv_add(struct strv *, const char *);
void	strv_clear(struct strv *);
int	strv_copy(struct strv *, const struct strv *);
size_t	strv_bytes(const struct strv *);	/* with the NULs */
int	kvv_add(struct kvv *, const char *, const char *);
int	kvv_set(struct kvv *, const char *, const char *);
const char *kvv_get(const struct kvv *, const char *);
void	kvv_clear(struct kvv *);
int	kvv_copy(struct kvv *, const struct kvv *);
int	u64v_add(struct u64v *, uint64_t);
void	u64v_clear(struct u64v *);

#endif
