/*
 * The details that each type of event may have, as sandboxd-events(7) lists
 * them; those of a whole group end with a dot.  What is written without being
 * named here is told in the log: whoever reads events by program relies on it.
 */
#include <sys/types.h>

#include <string.h>

#include "log.h"
#include "store.h"

static const char *const event_details[EV_MAX] = {
	[EV_DAEMON_STARTED] = "version before",
	[EV_DAEMON_STOPPED] = "",
	[EV_RELOADED] = "rule",
	[EV_IMAGE_IMPORTED] = "image id rule",
	[EV_SBX_CREATE] = "image memory mcpus pids disk tmpfs user lifetime "
	    "idle keep companion_of rule label. mount. mount_rw.",
	[EV_SBX_READY] = "container guest",
	[EV_SBX_FAILED] = "cause code",
	[EV_SBX_STOP] = "rule reason cause",
	[EV_SBX_STOPPED] = "cause code",
	[EV_SBX_RESUME] = "rule",
	[EV_SBX_DELETE] = "rule reason cause",
	[EV_SBX_DELETED] = "cause",
	[EV_SBX_CLEANED] = "",
	[EV_SBX_LEFT] = "left",
	[EV_EXEC_CREATE] = "command sha256 env rule include exclude "
	    "reason",
	[EV_EXEC_STARTED] = "pid",
	[EV_EXEC_ENDED] = "end code signal cause stdout stderr dropped "
	    "background",
	[EV_EXEC_SIGNAL] = "signal cancel rule",
	[EV_SBX_COLLECTED] = "sandbox owner events",
	[EV_LOG_ANCHOR] = "sequence",
	[EV_LOG_RESTORED] = "sequence head",
	[EV_AUDIT_REFUSED] = "code what on why more",
	[EV_SBX_UPDATE] = "memory mcpus pids rule",
	[EV_SBX_UPDATED] = "memory mcpus pids lifetime idle keep label. "
	    "unlabel. cause code rule",
	[EV_SBX_EXTEND] = "left idle rule",
	[EV_SBX_MISSING] = "",
	[EV_SBX_FOUND] = "",
	[EV_SBX_OUTSIDE] = "what",
	[EV_STRAY_FOUND] = "container sandbox number",
	[EV_STRAY_REMOVED] = "container sandbox number",
	[EV_SBX_PAUSE] = "rule",
	[EV_SBX_PAUSED] = "cause code",
	[EV_SBX_UNPAUSE] = "rule",
	[EV_SBX_UNPAUSED] = "cause code",
	[EV_SBX_RESTART] = "rule",
	[EV_EXEC_DETACH] = "shown rule",
	[EV_SBX_CAUSE] = "cause",
	[EV_AUDIT_ALLOWED] = "what on rule more",
	[EV_EXEC_CHANGED] = "made written removed renamed altered list more "
	    "shared denied cause",
};

static int
type_has(const char *words, const char *key)
{
	size_t	 len;

	for (; *words != '\0'; words += len + (words[len] == ' ')) {
		len = strcspn(words, " ");
		if (strncmp(words, key, len) != 0)
			continue;
		if (key[len] == '\0' || words[len - 1] == '.')
			return (1);
	}
	return (0);
}

/* Is each of them one of the type's? */
void
types_check(enum event_type type, const struct kvv *detail)
{
	static uint8_t	 told[EV_MAX];
	const char	*words = event_details[type];
	size_t		 i;

	if (detail == NULL || told[type])
		return;
	for (i = 0; i < detail->n; i++) {
		if (words != NULL && type_has(words, detail->v[i].k))
			continue;
		log_warnx("event %s: its detail %s is in no table",
		    store_event_name(type), detail->v[i].k);
		told[type] = 1;
	}
}
