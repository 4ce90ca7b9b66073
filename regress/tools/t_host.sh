# What tools of the host need in a sandbox: -H of create and run.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# A home of a user's own, HOME; MINE is sandboxctl as that user.
home()
{
	M=$(mktemp -d /tmp/sbm.XXXXXX) || atf_fail "no scratch folder"
	echo "$M" >.place
	chmod 755 "$M"
	new_uid
	mkdir -p "$M/home/.claude" "$M/home/.cache" "$M/home/.npm" \
	    "$M/home/.config/gh" "$M/run/pulse"
	echo settings >"$M/home/.claude/settings.json"
	echo '{}' >"$M/home/.claude.json"
	echo cached >"$M/home/.npm/index"
	echo me >"$M/home/.gitconfig"
	/usr/bin/python3 -I - "$M" <<-'EOF' &
	import os, socket, sys
	s = socket.socket(socket.AF_UNIX)
	path = sys.argv[1] + "/run/agent"
	s.bind(path + ".new")
	os.chmod(path + ".new", 0o666)
	s.listen(5)
	os.rename(path + ".new", path)
	while True:
	    c = s.accept()[0]
	    c.sendall(b"signed\n")
	    c.close()
	EOF
	echo $! >.agent
	await '[ -S "$M/run/agent" ]'
	chown -R $NEW_UID:$NEW_UID "$M/home" "$M/run"
	world "allow create exec files events stop delete any on own
	policy {
		image allow \"*\"
		mount allow \"$M/home/.npm\" rw
		mount allow \"$M/home/.cache\" rw
		mount allow \"$M/home/.local\"
		mount allow \"$M/run/agent\" sockets
	}"
	MINE=$D/mine
	cat >"$MINE" <<-EOT
		#!/bin/sh
		exec env -i HOME="$M/home" \${AGENT:+SSH_AUTH_SOCK="\$AGENT"} \\
		    PATH="$PATH" ASAN_OPTIONS="$ASAN_OPTIONS" \\
		    setpriv --reuid $NEW_UID --regid $NEW_UID --groups \\
		    $(getent group sandbox | cut -d: -f3) "$CTL" "\$@"
	EOT
	chmod 755 "$MINE"
}

home_cleanup()
{
	[ ! -f .agent ] || while read -r p; do
		kill "$p" 2>/dev/null || :
	done <.agent
	daemon_cleanup
	[ ! -f .place ] || rm -rf "$(cat .place)"
}

# talk: a program in BOX that says its second argument to the socket of the
# first one, and prints the answer; or, with -l, answers on that socket with what
# it is asked behind its third argument.
talk()
{
	cat >talk.c <<-'EOF'
	#include <sys/socket.h>
	#include <sys/un.h>
	#include <stdio.h>
	#include <string.h>
	#include <unistd.h>
	static int
	serve(int fd, struct sockaddr_un *s, const char *who)
	{
		char	 buf[64], path[sizeof(s->sun_path)];
		ssize_t	 n;
		int	 c;

		/* Who sees it can connect to it. */
		strcpy(path, s->sun_path);
		strcat(s->sun_path, ".new");
		if (bind(fd, (struct sockaddr *)s, sizeof(*s)) == -1 ||
		    listen(fd, 5) == -1 || rename(s->sun_path, path) == -1) {
			perror("bind");
			return (1);
		}
		while ((c = accept(fd, NULL, NULL)) != -1) {
			if ((n = read(c, buf, sizeof(buf))) > 0)
				dprintf(c, "%s: %.*s", who, (int)n, buf);
			close(c);
		}
		return (1);
	}
	int
	main(int argc, char *argv[])
	{
		struct sockaddr_un	 s = { .sun_family = AF_UNIX };
		char			 buf[64];
		int			 fd = socket(AF_UNIX, SOCK_STREAM, 0);
		ssize_t			 n;

		if (argc == 4) {
			strcpy(s.sun_path, argv[2]);
			return (serve(fd, &s, argv[3]));
		}
		strncpy(s.sun_path, argv[1], sizeof(s.sun_path) - 1);
		if (connect(fd, (struct sockaddr *)&s, sizeof(s)) == -1) {
			perror("connect");
			return (1);
		}
		if (argc > 2 && write(fd, argv[2], strlen(argv[2])) == -1)
			return (3);
		n = read(fd, buf, sizeof(buf));
		return (n > 0 && write(1, buf, (size_t)n) == n ? 0 : 2);
	}
	EOF
	musl-gcc -static -o talk talk.c || atf_fail "no helper"
	"$CTL" put "$NEW_UID/$BOX" talk /workspace/talk || atf_fail "not put"
}

# made option ...: a sandbox of his; BOX.
made()
{
	"$MINE" create "$@" >box.id 2>err || atf_fail "create $*: $(cat err)"
	BOX=$(cat box.id)
}

# has line, output: what the line prints inside.
has()
{
	out=$("$MINE" exec "$BOX" sh -c "$1" 2>&1)
	[ "$out" = "$2" ] || atf_fail "$1: $out"
}

atf_test_case tools cleanup
tools_head()
{
	atf_set descr 'its rows and no others; what is not there is left out'
	atf_set timeout 300
}
tools_body()
{
	home
	made -H claude -H npm -H git
	has 'cat .claude/settings.json .claude.json .gitconfig' "settings
{}
me"
	has 'cat /npm-cache/index; echo "$npm_config_cache"' "cached
/npm-cache"
	# Copies: what is planted there is not on the host.
	has 'echo hook >.claude/settings.json; mkdir .claude/hooks' ''
	[ "$(cat "$M/home/.claude/settings.json")" = settings ] ||
	    atf_fail "the host's settings have changed"
	[ ! -e "$M/home/.claude/hooks" ] || atf_fail "a hook is on the host"
	# The cache is one.
	has 'echo new >/npm-cache/new' ''
	[ "$(cat "$M/home/.npm/new")" = new ] || atf_fail "not in the cache"
	# No agent, no sound: neither place nor variable.
	has 'ls -d /ssh-agent /pulse-audio /uv-cache 2>/dev/null;
	    echo "$SSH_AUTH_SOCK$PULSE_SERVER$UV_CACHE_DIR"' ''
	"$MINE" -j show "$BOX" >shown
	grep -qF "\"mounts\":{},\"mounts_rw\":{\"/npm-cache\":\"$M/home/.npm\"}" \
	    shown || atf_fail "$(cat shown)"
	"$MINE" delete "$BOX" || atf_fail "not deleted"
	# An agent that is there is used, and its mode stays.
	export AGENT="$M/run/agent"
	made -H git -H uv -e UV_CACHE_DIR=/mine
	has 'echo "$SSH_AUTH_SOCK $UV_CACHE_DIR"' '/ssh-agent /mine'
	talk
	has './talk /ssh-agent' signed
	[ "$(stat -c %a "$M/run/agent")" = 666 ] || atf_fail "another mode"
	"$MINE" delete "$BOX" || atf_fail "not deleted"
	nothing_left
	daemon_stop
}
tools_cleanup()
{
	home_cleanup
}

atf_test_case lent cleanup
lent_head()
{
	atf_set descr 'a service that wants a secret, used without having it'
	atf_set timeout 300
}
lent_body()
{
	home
	sed -i "s,mount allow \"$M/home/.npm\" rw,&\n\
mount allow \"$M/run/lent\" sockets," "$CONF"
	atf_check "$CTL" reload
	secret=s3cret-$NEW_UID
	# Who has the secret says it to the service, with what it is asked.
	/usr/bin/python3 -I - "$M/run" "$secret" <<-'EOF' &
	import os, socket, sys, threading
	where, secret = sys.argv[1:]
	def serve(name, answer):
	    s = socket.socket(socket.AF_UNIX)
	    path = where + "/" + name
	    s.bind(path + ".new")
	    os.chmod(path + ".new", 0o666)
	    s.listen(5)
	    os.rename(path + ".new", path)
	    while True:
	        c = s.accept()[0]
	        c.sendall(answer(c.recv(64)))
	        c.close()
	def service(asked):
	    who, _, what = asked.partition(b" ")
	    return b"done: " + what if who == secret.encode() else b"refused"
	def broker(asked):
	    s = socket.socket(socket.AF_UNIX)
	    s.connect(where + "/service")
	    s.sendall(secret.encode() + b" " + asked)
	    return s.recv(64)
	threading.Thread(target=serve, args=("service", service)).start()
	serve("lent", broker)
	EOF
	echo $! >>.agent
	await '[ -S "$M/run/lent" ] && [ -S "$M/run/service" ]'
	# Another's would be of no use: its owner is not mapped.
	chown $NEW_UID:$NEW_UID "$M/run/lent"
	made -v "$M/run/lent:/run/lent"
	talk
	has './talk /run/lent push' 'done: push'
	has './talk /run/service push 2>/dev/null; echo $?' 1
	# Nowhere in it: not in a file, a variable or an argument.
	has "set -- s3cret; grep -rsl \"\$1-$NEW_UID\" /etc /run /tmp \
	    /workspace /.sandboxd /proc/[0-9]*/environ | head -n 1" ''
	daemon_stop
}
lent_cleanup()
{
	home_cleanup
}

atf_test_case companion cleanup
companion_head()
{
	atf_set descr 'two sandboxes that share a directory: one serves the other'
	atf_set timeout 300
}
companion_body()
{
	home
	mkdir "$M/shared"
	chown $NEW_UID:$NEW_UID "$M/shared"
	sed -i "s,mount allow \"$M/home/.npm\" rw,&\n\
mount allow \"$M/shared\" rw sockets," "$CONF"
	atf_check "$CTL" reload
	made -i web -v "$M/shared:/run/app:rw"
	talk
	made -i db -W web -v "$M/shared:/run/app:rw"
	talk
	# A command in the one that is named, and it goes on there.
	"$MINE" exec -d db ./talk -l /run/app/db 'the db' >exec.id ||
	    atf_fail "not started"
	await '[ -S "$M/shared/db" ]'
	BOX=web
	has './talk /run/app/db rows' 'the db: rows'
	has 'hostname' web
	BOX=db
	has 'hostname' db
	# They are two users, each with files of his own but for that directory.
	has 'echo secret >/workspace/own; echo shared >/run/app/file' ''
	BOX=web
	has 'cat /run/app/file; ls /workspace' 'shared
talk'
	# The one's end is not the other's.
	"$MINE" stop db || atf_fail "not stopped"
	has './talk /run/app/db rows 2>&1' 'connect: Connection refused'
	"$MINE" resume db || atf_fail "not resumed"
	rm "$M/shared/db"
	"$MINE" exec -d db ./talk -l /run/app/db 'again' >exec.id ||
	    atf_fail "not started"
	await '[ -S "$M/shared/db" ]'
	has './talk /run/app/db rows' 'again: rows'
	atf_check -o match:'^companion of web$' "$MINE" show db
	atf_check -s not-exit:0 -e match:'not_found' "$MINE" create -W nobody
	# One ends with the other, whatever it does.
	"$MINE" delete web || atf_fail "not deleted"
	"$MINE" wait db deleted || atf_fail "it lives on"
	atf_check -o match:'whose companion it was' "$MINE" show db
	nothing_left
	[ "$(cat "$M/shared/file")" = shared ] || atf_fail "it is gone"
	daemon_stop
}
companion_cleanup()
{
	home_cleanup
}

atf_test_case refused cleanup
refused_head()
{
	atf_set descr 'what must be there, what is not allowed, unknown ones'
	atf_set timeout 300
}
refused_body()
{
	home
	atf_check -s not-exit:0 -e match:'~/.codex.*not_found' "$MINE" create \
	    -H codex
	rm "$M/home/.claude.json"
	atf_check -s not-exit:0 -e match:'~/.claude.json.*not_found' "$MINE" \
	    run -H claude true
	# What is there is not left out because it is not allowed.
	sed -i '/run.agent/d' "$CONF"
	atf_check "$CTL" reload
	AGENT=$M/run/agent atf_check -s not-exit:0 -e match:policy_denied \
	    "$MINE" create -H git
	atf_check -s exit:64 -e match:'claude, codex, git' "$MINE" create \
	    -H nothing
	atf_check -o empty "$MINE" -j list -a
	daemon_stop
}
refused_cleanup()
{
	home_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case tools
	atf_add_test_case lent
	atf_add_test_case companion
	atf_add_test_case refused
}
