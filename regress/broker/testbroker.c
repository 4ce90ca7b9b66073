#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <event.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"
#include "log.h"
#include "testbroker.h"

#define TB_LIMIT	120	/* seconds for one answer, and no less */

void
tb_policy(struct tb *tb)
{
	struct msg_conf	*c = &tb->policy.conf;
	const char	*scratch, *bin;
	FILE		*f;
	uint64_t	 r = 0;
	char		*s;

	memset(tb, 0, sizeof(*tb));
	tb->pid = -1;
	umask(022);
	if ((scratch = getenv("SBX_SCRATCH")) == NULL)
		scratch = "/tmp";
	snprintf(tb->dir, sizeof(tb->dir), "%s/brk.XXXXXX", scratch);
	ATF_REQUIRE(mkdtemp(tb->dir) != NULL);
	ATF_REQUIRE(chmod(tb->dir, 0755) == 0);
	ATF_REQUIRE((f = fopen("/dev/urandom", "r")) != NULL);
	ATF_REQUIRE(fread(&r, sizeof(r), 1, f) == 1);
	fclose(f);
	snprintf(c->instance, sizeof(c->instance), "%016" PRIx64 "%016d", r, 0);
	bin = getenv("SBX_BIN");
	if (asprintf(&c->guest, "%s/sandbox-guest",
	    bin == NULL ? "/tmp" : bin) == -1 ||
	    asprintf(&c->mnt, "%s/mnt", tb->dir) == -1 ||
	    asprintf(&c->sock, "%s/sock", tb->dir) == -1)
		atf_tc_fail("asprintf");
	ATF_REQUIRE(mkdir(c->mnt, 0755) == 0 && mkdir(c->sock, 0755) == 0);
	ATF_REQUIRE(asprintf(&s, "%s/sock/0", tb->dir) != -1);
	ATF_REQUIRE(mkdir(s, 0755) == 0);
	free(s);
	c->uid_low = 2000000000;
	c->uid_high = 2000065535;
	/* Of this test alone, since others import at the same time. */
	snprintf(c->image, sizeof(c->image), "test-%016" PRIx64, r);
	c->tmp_size = 64 << 20;
	c->max_memory = 1ULL << 32;
	c->max_mcpus = 4000;
	c->max_pids = 1000;
	c->t_engine = 60000;
}

static void
tb_child(struct tb *tb, int fd)
{
	const char	*why;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* Another broker's pipe would never end if this one held it too. */
	if (dup2(fd, 3) == -1)
		_exit(1);
	closefrom(4);
	fd = 3;
	log_init(1, 0);
	log_procinit("broker");
	event_init();
	signal(SIGPIPE, SIG_IGN);
	broker_env.policy = tb->policy;
	engine_deadline_max = tb->policy.conf.t_engine;
	if (engine_init(tb->policy.conf.engine, &why) == -1)
		fatalx("%s", why);
	broker_store_start(fd);
	broker_engine_start();
	event_dispatch();
	broker_engine_stop();
	engine_shutdown();
	_exit(0);
}

void
tb_start(struct tb *tb, const char *sock)
{
	int	 sv[2];

	free(tb->policy.conf.engine);
	ATF_REQUIRE((tb->policy.conf.engine = strdup(sock)) != NULL);
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    sv) == 0);
	ATF_REQUIRE((tb->pid = fork()) != -1);
	if (tb->pid == 0) {
		close(sv[0]);
		tb_child(tb, sv[1]);
	}
	close(sv[1]);
	chan_init(&tb->ch, sv[0], "broker", NULL);
}

/* The directories that the broker named; nobody has put a file there. */
static void
tb_clean(struct tb *tb)
{
	char	 path[128];
	int	 n;

	for (n = 1; n <= TB_BOXES; n++) {
		snprintf(path, sizeof(path), "%s/mnt/%d", tb->dir, n);
		(void)rmdir(path);
		snprintf(path, sizeof(path), "%s/sock/0/%d", tb->dir, n);
		(void)rmdir(path);
	}
	snprintf(path, sizeof(path), "%s/sock/0", tb->dir);
	(void)rmdir(path);
	(void)rmdir(tb->policy.conf.sock);
	(void)rmdir(tb->policy.conf.mnt);
	ATF_CHECK(rmdir(tb->dir) == 0);
	policy_clear(&tb->policy);
}

void
tb_stop(struct tb *tb)
{
	int	 status;

	chan_clear(&tb->ch);
	ATF_REQUIRE(waitpid(tb->pid, &status, 0) == tb->pid);
	ATF_CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "the broker ended with %#x", status);
	tb->pid = -1;
	tb_clean(tb);
}

static void
tb_frame(struct tb *tb, struct frame *f)
{
	struct pollfd	 pfd;
	int		 n;

	while ((n = chan_get(&tb->ch, f)) == 0) {
		pfd.fd = tb->ch.fd;
		pfd.events = POLLIN;
		if (poll(&pfd, 1, TB_LIMIT * 1000) != 1)
			atf_tc_fail("no message from the broker");
		if (chan_read(&tb->ch) != 1)
			atf_tc_fail("the broker is gone");
	}
	ATF_REQUIRE(n == 1);
}

static void
tb_decode(struct frame *f, void *msg)
{
	static const uint8_t	 none[] = { 0x90 };

	if (msg_def(f->type)->nfields == 0)
		ATF_REQUIRE(f->len == 0 || memcmp(f->data, none, 1) == 0);
	else
		ATF_REQUIRE(msg_decode_array(msg, msg_def(f->type), f->data,
		    f->len) == 0);
}

void
tb_recv(struct tb *tb, uint32_t type, struct frame *f, void *msg)
{
	tb_frame(tb, f);
	if (f->type == MSG_BOX_FAILED && type != MSG_BOX_FAILED) {
		struct msg_box_failed m;

		tb_decode(f, &m);
		atf_tc_fail("%s: %s", code_name(m.code), m.text);
	}
	ATF_REQUIRE_MSG(f->type == type, "%s instead of %s", msg_name(f->type),
	    msg_name(type));
	tb_decode(f, msg);
}

void
tb_up(struct tb *tb)
{
	struct frame		 f;
	struct msg_engine	 m;

	do {
		tb_recv(tb, MSG_ENGINE, &f, &m);
		chan_frame_free(&f);
	} while (!m.up);
}

void
tb_back(struct tb *tb)
{
	struct frame		 f;
	struct msg_engine	 m;

	tb_recv(tb, MSG_ENGINE, &f, &m);
	chan_frame_free(&f);
	ATF_REQUIRE(!m.up);
	tb_up(tb);
}

uint64_t
tb_send(struct tb *tb, uint32_t type, const void *msg)
{
	pipe_send(&tb->ch, type, ++tb->op, 0, 0, -1, msg);
	ATF_REQUIRE(chan_flush_wait(&tb->ch) == 0);
	return (tb->op);
}

uint32_t
tb_answer(struct tb *tb, uint64_t op, void *msg)
{
	struct frame	 f;
	uint32_t	 type;

	/* The end that an operation makes is an event too, maybe later. */
	for (tb_frame(tb, &f); f.type == MSG_BOX_DIED ||
	    f.type == MSG_BOX_LOOK; tb_frame(tb, &f))
		chan_frame_free(&f);
	ATF_REQUIRE_MSG(f.op == op, "%s of operation %" PRIu64,
	    msg_name(f.type), f.op);
	tb_decode(&f, msg);
	type = f.type;
	chan_frame_free(&f);
	return (type);
}

void
tb_request(struct tb *tb, struct msg_box_create *req, uint64_t n)
{
	char	 path[128];

	memset(req, 0, sizeof(*req));
	req->n = n;
	snprintf(req->id, sizeof(req->id), "box%" PRIu64, n);
	snprintf(req->nonce, sizeof(req->nonce), "%032" PRIx64, n);
	snprintf(req->image, sizeof(req->image), "%s", tb->policy.conf.image);
	req->uid = req->gid = 2000000000 + n;
	req->memory = 64 << 20;
	req->mcpus = 1000;
	req->pids = 32;
	snprintf(path, sizeof(path), "%s/mnt/%" PRIu64, tb->dir, n);
	ATF_REQUIRE(mkdir(path, 0700) == 0 || errno == EEXIST);
	ATF_REQUIRE(chown(path, req->uid, req->gid) == 0 || geteuid() != 0);
	snprintf(path, sizeof(path), "%s/sock/0/%" PRIu64, tb->dir, n);
	ATF_REQUIRE(mkdir(path, 0755) == 0 || errno == EEXIST);
}

/* An archive of one empty directory. */
void
tb_tar(int fd, size_t len)
{
	unsigned char	 block[TB_TAR];
	unsigned int	 sum = 0, i;

	memset(block, 0, sizeof(block));
	memcpy(block, "tmp/", 4);
	memcpy(block + 100, "0001777", 7);
	memcpy(block + 108, "0000000", 7);
	memcpy(block + 116, "0000000", 7);
	memcpy(block + 124, "00000000000", 11);
	memcpy(block + 136, "00000000000", 11);
	memcpy(block + 148, "        ", 8);
	block[156] = '5';
	memcpy(block + 257, "ustar\00000", 8);
	for (i = 0; i < 512; i++)
		sum += block[i];
	snprintf((char *)block + 148, 8, "%06o", sum);
	ATF_REQUIRE(write(fd, block, len) == (ssize_t)len);
}

void
tb_import(struct tb *tb)
{
	struct frame		 f;
	struct msg_import	 m;
	struct proto_image	 image;

	memset(&m, 0, sizeof(m));
	snprintf(m.name, sizeof(m.name), "%s", tb->policy.conf.image);
	pipe_send(&tb->ch, MSG_IMPORT, ++tb->op, 7, 8, -1, &m);
	ATF_REQUIRE(chan_flush_wait(&tb->ch) == 0);
	tb_recv(tb, MSG_IMPORT_STREAM, &f, NULL);
	ATF_REQUIRE(f.fd != -1 && f.session == 7 && f.req == 8);
	tb_tar(f.fd, TB_TAR);
	chan_frame_free(&f);
	tb_recv(tb, MSG_IMPORTED, &f, &image);
	ATF_REQUIRE(f.session == 7 && f.req == 8);
	ATF_REQUIRE(strncmp(image.id, "sha256:", 7) == 0);
	chan_frame_free(&f);
}

int
tb_inventory(struct tb *tb, struct msg_box_state *last)
{
	union {
		struct msg_box_state	 state;
		struct msg_box_done	 done;
	} m;
	uint64_t	 op;
	int		 n = 0;

	op = tb_send(tb, MSG_INVENTORY, NULL);
	while (tb_answer(tb, op, &m) == MSG_CONTAINER) {
		*last = m.state;
		n++;
	}
	ATF_REQUIRE(m.done.code == CODE_OK);
	return (n);
}
