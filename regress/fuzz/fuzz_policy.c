/* What the broker's targets share. */

#include "fuzz.h"
#include "fuzz_policy.h"

json_t *
fuzz_policy_file(const char *name)
{
	char	 path[1024];
	json_t	*j;

	snprintf(path, sizeof(path), "%s/regress/broker/%s",
	    getenv("SBX_TOP") == NULL ? "." : getenv("SBX_TOP"), name);
	need((j = json_load_file(path, JSON_REJECT_DUPLICATES, NULL)) !=
	    NULL);
	return (j);
}

json_t *
fuzz_policy(struct policy *p, struct msg_box_create *known,
    struct policy_box *box)
{
	static char	 mnt[] = "/var/lib/sandboxd/mnt";
	static char	 sock[] = "/var/lib/sandboxd/runner/sock";
	static char	 mounts[] = "/var/lib/sandboxd/mounts";
	static char	 guest[] = "/var/lib/sandboxd/guest/942f1d415f791c87"
	    "df722eff1e1a8ffbe583b44242b67d2604bb61efd4704f79";
	char		 why[POLICY_WHY_MAX];
	json_t		*inspect;

	strlcpy(p->conf.instance, "0123456789abcdef0123456789abcdef",
	    sizeof(p->conf.instance));
	p->conf.guest = guest;
	p->conf.mnt = mnt;
	p->conf.sock = sock;
	p->conf.mounts = mounts;
	p->conf.uid_low = 2000000000;
	p->conf.uid_high = 2000065535;
	p->conf.tmp_size = 64 << 20;
	strlcpy(p->runtime, "runc", sizeof(p->runtime));
	p->arch = seccomp_arch("amd64");
	inspect = fuzz_policy_file("inspect.json");
	need(policy_derive(p, 2, inspect, known, box) == 0);
	need(policy_check(p, box, NULL, inspect, why, sizeof(why)) == 0);
	return (inspect);
}
