# The profile is in force inside: what it leaves out is refused, and ordinary
# work is not.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case denied cleanup
denied_head()
{
	atf_set descr 'namespaces, mounts and new roots are refused'
	atf_set timeout 300
}
denied_body()
{
	world
	box
	x="$CTL exec $BOX"
	for c in 'unshare -U true' 'unshare -r true' 'unshare -n true' \
	    'mount -t tmpfs none /tmp' 'umount /tmp' 'chroot / true' \
	    'nsenter -t 1 -n true' 'dmesg' 'hostname other'; do
		atf_check -s not-exit:0 -o ignore \
		    -e match:'not permitted|denied|are you root' $x $c
	done
	atf_check -o inline:"$BOX\n" $x hostname
	# Pipes, processes, temporary files, sockets and clocks.
	atf_check -o inline:"3\n" $x sh -c \
	    'mktemp >/dev/null; (echo a; echo b; echo c) | sort | wc -l'
	atf_check -o match:'127.0.0.1' $x sh -c 'ip addr show lo; netstat -an'
	atf_check -o ignore $x sh -c 'date; uptime; free; ps'
	daemon_stop
}
denied_cleanup()
{
	daemon_cleanup
}

atf_test_case limits cleanup
limits_head()
{
	atf_set descr 'a command sets its own limits, and not those of PID 1'
	atf_set timeout 300
}
limits_body()
{
	cat >p.c <<-EOT
		#define _GNU_SOURCE
		#include <sys/resource.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <errno.h>
		int
		main(int argc, char *argv[])
		{
			struct rlimit old, rl = { 20, 20 };
			int pid = atoi(argv[1]);

			printf("get %s\n", prlimit(pid, RLIMIT_NOFILE, NULL,
			    &old) == -1 ? strerror(errno) : "works");
			printf("set %s\n", prlimit(pid, RLIMIT_NOFILE, &rl,
			    NULL) == -1 ? strerror(errno) : "works");
			return (0);
		}
	EOT
	musl-gcc -static -o p p.c || atf_fail "no program"
	world
	box
	atf_check $CTL exec "$BOX" sh -c 'cat >/tmp/p; chmod 755 /tmp/p' <p
	atf_check -o inline:"get works\nset works\n" \
	    $CTL exec "$BOX" /tmp/p 0
	atf_check -o inline:"get works\nset Operation not permitted\n" \
	    $CTL exec "$BOX" /tmp/p 1
	atf_check -o inline:"20\n" $CTL exec "$BOX" sh -c 'ulimit -n 20; ulimit -n'
	daemon_stop
}
limits_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case limits
	atf_add_test_case denied
}
