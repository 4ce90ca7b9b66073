/*
 * What one sandbox may have: by the configuration, by the user's own limits,
 * and by what the host has.  How much all of a user's have is for quota.
 */
#include <sys/types.h>

#include <stdio.h>

#include "store.h"

/* The Engine refuses more processors than it has. */
uint32_t
limits_cpus(void)
{
	uint32_t	 host = st.engine.ncpu * 1000;

	if (host == 0 || st.engine.unenforced & UNENFORCED_CPUS)
		return (st.conf.max_mcpus);
	return (st.conf.max_mcpus == 0 || host < st.conf.max_mcpus ? host :
	    st.conf.max_mcpus);
}

/* The least of a limit of all and the user's own. */
uint64_t
limits_most(const struct asker *a, enum limit l, uint64_t max)
{
	uint64_t	 own = a->bounds[l].most;

	return (own != 0 && (max == 0 || own < max) ? own : max);
}

/*
 * -1 and why: nobody keeps what has ended longer than the configuration has
 * it.  SBX_TIME_NONE is as long.
 */
int
limits_keep(uint64_t keep, struct refusal *no)
{
	uint64_t	 max = st.conf.retain_stopped;
	char		 a[32], b[32];

	if (keep == SBX_TIME_NONE || max == 0 || keep <= max)
		return (0);
	return (refuse(no, CODE_LIMIT_EXCEEDED, "keep",
	    "keep: %s: the limit is %s", times_text(keep, a, sizeof(a)),
	    times_text(max, b, sizeof(b))));
}

/* The same of a workspace.  What is to have no bound fits into none. */
int
limits_disk(const struct asker *a, uint64_t disk, struct refusal *no)
{
	uint64_t	 max = limits_most(a, LIMIT_DISK_EACH, st.conf.max_disk);

	if (disk == 0 && (a->bounds[LIMIT_DISK].most != 0 ||
	    st.all[LIMIT_DISK].most != 0))
		return (refuse(no, CODE_LIMIT_EXCEEDED, "disk",
		    "disk: what all may have is limited: "
		    "say how much this one is to have"));
	if (max == 0 || disk <= max)
		return (0);
	return (refuse(no, CODE_LIMIT_EXCEEDED, "disk",
	    "invalid disk: %llu: the limit is %llu",
	    (unsigned long long)disk, (unsigned long long)max));
}

/* A workspace in memory is memory of the sandbox. */
int
limits_tmpfs(uint64_t tmpfs, uint64_t memory, const char *field,
    struct refusal *no)
{
	if (tmpfs <= memory)
		return (0);
	return (refuse(no, CODE_LIMIT_EXCEEDED, field,
	    "invalid %s: the workspace is %llu of memory, and the sandbox has "
	    "%llu", field, (unsigned long long)tmpfs,
	    (unsigned long long)memory));
}

/*
 * BATCH_REFUSED if it is too much.  What it has already (NULL: it is
 * to be made) is not taken for what is asked.
 */
int
limits_check(const struct asker *a, const struct proto_create *has,
    const struct limits *l, struct refusal *no)
{
	const struct {
		const char	*name;
		uint64_t	 v;
		uint64_t	 has;
		uint64_t	 max;
	} t[] = {
		{ "memory", l->memory, has == NULL ? 0 : has->memory,
		    limits_most(a, LIMIT_MEMORY_EACH, st.conf.max_memory) },
		{ "mcpus", l->mcpus, has == NULL ? 0 : has->mcpus,
		    limits_most(a, LIMIT_CPUS_EACH, limits_cpus()) },
		{ "pids", l->pids, has == NULL ? 0 : has->pids,
		    limits_most(a, LIMIT_PIDS_EACH, st.conf.max_pids) },
	};
	size_t	 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (t[i].max == 0 || t[i].v <= t[i].max ||
		    (has != NULL && t[i].v == t[i].has))
			continue;
		return (refuse(no, CODE_LIMIT_EXCEEDED, t[i].name,
		    "invalid %s: %llu: the limit is %llu", t[i].name,
		    (unsigned long long)t[i].v,
		    (unsigned long long)t[i].max));
	}
	return (0);
}
