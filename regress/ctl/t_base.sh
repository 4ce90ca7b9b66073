# The archive of the built-in image.

atf_test_case archive
archive_head()
{
	atf_set descr 'busybox, its links, and the folders, always the same'
}
archive_body()
{
	tar=$SBX_BIN/sandboxctl-tar
	"$tar" base >one.tar || atf_fail "no archive"
	"$tar" base >two.tar || atf_fail "no archive"
	atf_check cmp one.tar two.tar
	mkdir root
	atf_check tar -x -p -f one.tar -C root
	atf_check cmp /bin/busybox root/bin/busybox
	atf_check -o inline:"/bin/busybox\n" readlink root/bin/sh
	atf_check -o inline:"1777\n" stat -c %a root/tmp
	atf_check -o inline:"755\n" stat -c %a root/workspace
	atf_check -o match:"^root:x:0:0:" cat root/etc/passwd
	# Nothing in it but what root owns, and nothing set-user-id.
	atf_check -o empty find root ! -uid 0
	atf_check -o empty find root -type f -perm /6000
	for a in awk cat grep head id sed seq sha256sum sleep tar wc; do
		[ -L "root/bin/$a" ] || [ -L "root/usr/bin/$a" ] ||
		    atf_fail "no $a"
	done
}

atf_test_case refused
refused_head()
{
	atf_set descr 'what is missing, no program or not static is refused'
}
refused_body()
{
	tar=$SBX_BIN/sandboxctl-tar
	atf_check -s exit:1 -e match:"usage" "$tar"
	atf_check -s exit:1 -e match:"usage" "$tar" other
	atf_check -s exit:1 -o ignore -e match:"missing" \
	    "$tar" base "$PWD/nosuch"
	echo hello >plain
	atf_check -s exit:1 -o ignore -e match:"not a program" \
	    "$tar" base "$PWD/plain"
	atf_check -s exit:1 -o ignore -e match:"not a static program" \
	    "$tar" base /bin/cat
}

atf_init_test_cases()
{
	atf_add_test_case archive
	atf_add_test_case refused
}
