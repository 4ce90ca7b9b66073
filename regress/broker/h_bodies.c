/*
 * h_bodies seed count: random orders of a store that is not believed, and the
 * body of each one that the policy lets pass, for check_body.py.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

static uint64_t	 state;

static uint64_t
rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state % below);
}

static void
text(char *dst, size_t size, const char *alphabet, size_t min, size_t max)
{
	size_t	 i, len, n = strlen(alphabet);

	len = min + rnd(max - min + 1);
	for (i = 0; i < len && i + 1 < size; i++)
		dst[i] = alphabet[rnd(n)];
	dst[i] = '\0';
}

/* Mostly within the bounds, at times at them, past them, or nothing at all. */
static uint64_t
number(uint64_t min, uint64_t max)
{
	static const uint64_t	 odd[] = {
		0, 1, UINT32_MAX, INT64_MAX, UINT64_MAX, 1ULL << 63
	};

	switch (rnd(12)) {
	case 0:
		return (min);
	case 1:
		return (max);
	case 2:
		return (rnd(4) == 0 ? min - 1 : min);
	case 3:
		return (rnd(4) == 0 ? max + 1 : max);
	case 4:
		if (rnd(4) == 0)
			return (odd[rnd(sizeof(odd) / sizeof(odd[0]))]);
		/* FALLTHROUGH */
	default:
		return (min + rnd(max - min + 1));
	}
}

static void
environment(struct msg_box_create *req)
{
	static const char	 names[] = "ABCxyz_019-. ";
	static const char *const values[] = {
		"", "a", "a=b", "\"},\"HostConfig\":{\"Privileged\":true}",
		"\\\"", "\n\r\t", "\x01\x7f", "\xc3\xa9\xe2\x82\xac", "${A}",
		"\xff", "/etc", "../..", "\xf0\x9f\x98\x80", "%00", "\\u0000"
	};
	static const char *const odd[] = {
		"", "A=B", "SANDBOXD_FAULT", "SANDBOXD_", "sandboxd_x",
		"\"", "\xff", "LD_PRELOAD"
	};
	char	 name[64];
	uint64_t n = rnd(5);

	while (n-- > 0) {
		text(name, sizeof(name), names, 1, 20);
		if (rnd(12) == 0)
			strlcpy(name, odd[rnd(sizeof(odd) / sizeof(odd[0]))],
			    sizeof(name));
		if (kvv_add(&req->env, name, values[rnd(sizeof(values) /
		    sizeof(values[0]))]) == -1)
			err(1, NULL);
	}
}

/* Places of a client's directories, of which some are none. */
static void
places(struct msg_box_create *req)
{
	static const char *const good[] = {
		"/mnt", "/srv/a", "/srv/b", "/srv/a+b@c", "/etc", "/home/x/y",
		"/usr/local/lib", "/opt/.x"
	};
	static const char *const bad[] = {
		"", "/", "mnt", "/mnt/", "/mnt/../etc", "/workspace",
		"/workspace/x", "/proc", "/.sandboxd/guest", "/tmp/x", "/a b",
		"/\xff", "/a,b", "/srv", "/mnt/in", "/dev/x", "/sys"
	};
	const char	*s;
	uint64_t	 n = rnd(4) == 0 ? 1 + rnd(4) : 0;

	while (n-- > 0) {
		s = rnd(8) == 0 ? bad[rnd(sizeof(bad) / sizeof(bad[0]))] :
		    good[rnd(sizeof(good) / sizeof(good[0]))];
		if (strv_add(rnd(2) ? &req->mounts : &req->mounts_rw, s) == -1)
			err(1, NULL);
	}
}

static void
order(struct policy *p, struct msg_box_create *req)
{
	static const char	 word[] = "abcXYZ019_-";

	memset(req, 0, sizeof(*req));
	req->n = number(1, UINT64_MAX - 1);
	text(req->id, sizeof(req->id), word, 0, sizeof(req->id) - 1);
	if (rnd(20) == 0)
		text(req->id, sizeof(req->id), "a/.:\"\\ \n", 1, 8);
	text(req->nonce, sizeof(req->nonce), "0123456789abcdef", 32, 32);
	if (rnd(20) == 0)
		text(req->nonce, sizeof(req->nonce), "0aF\"", 0, 32);
	req->owner = number(0, UINT32_MAX - 1);
	req->uid = number(p->conf.uid_low, p->conf.uid_high);
	req->gid = rnd(8) == 0 ? (uint32_t)number(p->conf.uid_low,
	    p->conf.uid_high) : req->uid;
	if (rnd(30) == 0)
		req->uid = 0;
	if (rnd(30) == 0)
		req->gid = 0;
	req->memory = number(6 << 20, p->conf.max_memory);
	req->mcpus = number(10, p->conf.max_mcpus);
	req->pids = number(4, p->conf.max_pids);
	req->readonly = rnd(3);
	if (rnd(3) == 0)
		req->tmpfs = number(SBX_TMPFS_MIN, req->memory);
	environment(req);
	places(req);
}

static json_t *
list(const struct strv *s)
{
	json_t	*l = json_array();
	size_t	 i;

	for (i = 0; i < s->n; i++)
		json_array_append_new(l, json_string(s->v[i]));
	return (l);
}

static json_t *
asked(const struct policy *p, const struct policy_box *box)
{
	const struct msg_box_create	*req = box->req;
	json_t				*env, *j;
	size_t				 i;

	env = json_array();
	for (i = 0; i < req->env.n; i++)
		json_array_append_new(env, json_sprintf("%s=%s",
		    req->env.v[i].k, req->env.v[i].v));
	/* The number is in the name, and may be more than JSON's here. */
	j = json_pack("{s:s,s:I,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:b,s:I,s:I,"
	    "s:o,s:s,s:s,s:s,s:I,s:I,s:b,s:s,s:o,s:o}", "id", req->id,
	    "owner", (json_int_t)req->owner, "op", req->nonce,
	    "instance", p->conf.instance, "image", box->image,
	    "uid", (json_int_t)req->uid, "gid", (json_int_t)req->gid,
	    "memory", (json_int_t)req->memory, "mcpus", (json_int_t)req->mcpus,
	    "pids", (json_int_t)req->pids, "readonly", req->readonly != 0,
	    "tmp", (json_int_t)box->tmp, "tmpfs", (json_int_t)req->tmpfs,
	    "env", env, "mnt", p->conf.mnt, "sock", p->conf.sock,
	    "guest", box->guest,
	    "low", (json_int_t)p->conf.uid_low,
	    "high", (json_int_t)p->conf.uid_high, "root", p->conf.allow_root,
	    "mounts", p->conf.mounts, "ro", list(&req->mounts),
	    "rw", list(&req->mounts_rw));
	if (j == NULL)
		errx(1, "cannot say what was asked");
	return (j);
}

/* A line, unless it is refused. */
static int
line(const struct policy *p, const struct msg_box_create *req)
{
	struct policy_box	 box = { .req = req };
	struct policy_error	 e;
	json_t			*body, *j;
	char			 name[POLICY_NAME_MAX], *s;

	if (policy_refuse(p, req, &e) == -1 ||
	    policy_refuse_disk(p, req, &e) == -1)
		return (0);
	strlcpy(box.image, "sha256:", sizeof(box.image));
	text(box.image + 7, sizeof(box.image) - 7, "0123456789abcdef", 64, 64);
	box.tmp = p->conf.tmp_size < req->memory ? p->conf.tmp_size :
	    req->memory;
	box.guest = p->conf.guest;
	if ((body = policy_build(p, &box)) == NULL)
		return (0);
	policy_name(p, req->n, name, sizeof(name));
	if ((s = json_dumps(body, JSON_COMPACT)) == NULL)
		errx(1, "cannot write a body");
	j = json_pack("{s:s,s:s,s:o}", "name", name, "body", s, "asked",
	    asked(p, &box));
	free(s);
	if (j == NULL || json_dumpf(j, stdout, JSON_COMPACT |
	    JSON_ENSURE_ASCII) == -1)
		errx(1, "cannot write");
	putchar('\n');
	json_decref(body);
	json_decref(j);
	return (1);
}

int
main(int argc, char *argv[])
{
	struct msg_box_create	 req;
	struct policy		 p;
	long			 n, count, passed = 0;

	if (argc != 3 || (state = strtoull(argv[1], NULL, 10)) == 0)
		errx(1, "usage: h_bodies seed count");
	memset(&p, 0, sizeof(p));
	p.arch = seccomp_arch("amd64");
	p.conf.guest = "/srv/sandboxes/guest/942f1d415f791c87df722eff1e1a8ffbe"
	    "583b44242b67d2604bb61efd4704f79";
	p.conf.mnt = "/srv/sandboxes/mnt";
	p.conf.sock = "/srv/sandboxes/runner/sock";
	p.conf.mounts = "/srv/sandboxes/mounts";
	p.conf.max_pids = 4096;
	count = strtol(argv[2], NULL, 10);
	for (n = 0; n < count; n++) {
		text(p.conf.instance, sizeof(p.conf.instance),
		    "0123456789abcdef", 32, 32);
		p.conf.uid_low = 10000 + rnd(2000000000);
		p.conf.uid_high = p.conf.uid_low + rnd(65536);
		p.conf.allow_root = rnd(4) == 0;
		p.conf.tmp_size = (1 + rnd(64)) << 20;
		p.conf.max_memory = (64ULL + rnd(1 << 20)) << 20;
		p.conf.max_mcpus = 100 + rnd(1023900);
		order(&p, &req);
		passed += line(&p, &req);
		msg_clear(&req, msg_def(MSG_BOX_CREATE));
	}
	fprintf(stderr, "%ld orders, %ld passed\n", count, passed);
	return (0);
}
