/*
 * Bounds that the daemon and its clients share.  Each is checked where the
 * bytes come in and again by the process that acts on them.
 */
#ifndef BOUNDS_H
#define BOUNDS_H

/* The client protocol: payloads, in bytes. */
#define PROTO_MAX_PAYLOAD	(256 * 1024)
#define PROTO_MAX_HELLO		4096	/* before HELLO was accepted */

/* A frame between two children, payload and header. */
#define CHAN_MAX_FRAME		(512 * 1024)

/* Sandboxes. */
#define SBX_ID_MAX		64	/* characters */
#define SBX_IMAGE_MAX		255
#define SBX_KEY_MAX		128	/* request key */
#define SBX_DIR_MAX		4095
#define SBX_USER_MAX		31
#define SBX_LABELS_MAX		64	/* labels of one sandbox */
#define SBX_LABEL_KEY_MAX	64
#define SBX_LABEL_VALUE_MAX	255
#define SBX_ENV_MAX		256	/* variables of one sandbox */
#define SBX_MEMORY_MIN		(6ULL * 1024 * 1024)	/* the Engine's own */
#define SBX_MEMORY_MAX		(1ULL << 50)
#define SBX_MCPUS_MIN		10	/* thousandths of a processor */
#define SBX_MCPUS_MAX		1024000
/*
 * Of a workspace with a bound: ext4 of 4096-byte blocks with a journal of
 * 1024 of them, the least that mke2fs(8) makes, has 10 MiB left of 16.
 */
#define SBX_DISK_MIN		(16ULL * 1024 * 1024)
#define SBX_DISK_MAX		(1ULL << 44)
#define SBX_TMPFS_MIN		(1024 * 1024)
#define SBX_PIDS_MIN		4
#define SBX_PIDS_MAX		4194304
#define SBX_COMPANIONS_MAX	16	/* of one sandbox */
#define SBX_MOUNTS_MAX		16	/* of the host's, in one sandbox */
#define SBX_SOURCE_MAX		1023	/* bytes of the path of one */
#define SBX_TARGET_MAX		255	/* and of its place inside */
/* Of all of them together: with labels, they are in one record of the log. */
#define SBX_MOUNTS_BYTES	1536
#define SBX_STATES_MAX		16	/* that one may wait for at once */
#define SBX_HOSTNAME_MAX	63
#define SBX_TIME_NONE		UINT64_MAX	/* of a time in ms */
#define SBX_TIME_MAX		(3650ULL * 86400 * 1000)	/* ms */

/* Execs: argv, env and dir together, as they are handed to execve(2). */
#define EXEC_BYTES_MAX		(192 * 1024)
#define EXEC_ENTRIES_MAX	4096
#define EXEC_ARG_MAX		131071	/* MAX_ARG_STRLEN less the NUL */
#define EXEC_ID_MAX		(SBX_ID_MAX + 1 + 20)
#define EXEC_SHOWN_MAX		1024	/* of a command, in events and lists */
#define EXEC_REASON_MAX		512	/* bytes: why somebody runs it */
#define CHANGES_SCOPE_MAX	16	/* patterns of what is to be told */
#define CHANGES_PATTERN_MAX	240	/* bytes of one */
#define CHANGES_LIST_MAX	7000	/* bytes of what one has changed */
#define EXEC_TIMEOUT_MAX	(30ULL * 86400 * 1000)	/* milliseconds */
#define EXEC_GRACE_DEFAULT	1000	/* ms between TERM and KILL on cancel */
#define EXEC_GRACE_MAX		600000
#define TTY_SIZE_MAX		65535	/* rows, columns of a terminal */
#define TTY_ROWS		24	/* where none are given */
#define TTY_COLS		80

/* Subscriptions. */
#define EVENTS_TYPES_MAX	64	/* types that one may name */
#define EVENTS_BEAT_MIN		1000	/* ms between heartbeats */
#define EVENTS_BEAT_MAX		3600000

/* Texts. */
#define CODE_LEN_MAX		31
#define TEXT_MAX		1023
#define FIELD_MAX		63
#define PLACE_MAX		255	/* "file:line" of a rule */

/* Requests in flight: of one client, and of one uid. */
#define CLIENT_INFLIGHT_MAX	8
#define UID_INFLIGHT_MAX	32

#endif
