# The configuration: what is read, what is refused, and what prints back.

umask 022
D=$SBX_BIN/sandboxd

take()
{
	cp "$(atf_get_srcdir)/$1" . || atf_fail "no file $1"
}

atf_test_case defaults
defaults_head()
{
	atf_set descr "an empty file is valid and prints all defaults"
}
defaults_body()
{
	: >empty.conf
	take defaults.out
	atf_check -o file:defaults.out -e inline:"configuration OK\n" \
	    "$D" -nv -f empty.conf
	atf_check -e inline:"configuration OK\n" "$D" -n -f empty.conf
}

atf_test_case roundtrip
roundtrip_head()
{
	atf_set descr "what is printed parses again to the same"
}
roundtrip_body()
{
	take full.conf
	take full.out
	atf_check -o file:full.out -e ignore "$D" -nv -f full.conf
	atf_check -o save:first.conf -e ignore "$D" -nv -f full.conf
	atf_check -o file:full.out -e ignore "$D" -nv -f first.conf
}

atf_test_case errors
errors_head()
{
	atf_set descr "all errors are told in one run, each by its line"
}
errors_body()
{
	take bad.conf
	take bad.err
	atf_check -s exit:1 -e file:bad.err "$D" -n -f bad.conf
}

atf_test_case include
include_head()
{
	atf_set descr "an included file is told by its own name"
}
include_body()
{
	cat >one.conf <<-EOT
		include "$PWD/two.conf"
		include "$PWD/two.conf"
		state "/a"
	EOT
	printf 'prog = "/x y:z"\nguest $prog' >two.conf
	cat >want <<-EOT
		$PWD/two.conf:1: invalid macro: prog: already defined
		$PWD/two.conf:2: already set at $PWD/two.conf:2
	EOT
	atf_check -s exit:1 -e file:want "$D" -n -f one.conf
	sed -i 1d one.conf
	atf_check -o match:'^guest "/x y:z"$' -o match:'^state "/a"$' -e ignore \
	    "$D" -nv -f one.conf
	echo "include \"$PWD/loop.conf\"" >loop.conf
	atf_check -s exit:1 -e match:"loop.conf:1: .*too deep" \
	    "$D" -n -f loop.conf
}

atf_test_case owner
owner_head()
{
	atf_set descr "a file that others can change is refused"
}
owner_body()
{
	: >a.conf
	chmod 664 a.conf
	atf_check -s exit:1 -e match:"a.conf: mode 0664: writable by others" \
	    "$D" -n -f a.conf
	chmod 602 a.conf
	atf_check -s exit:1 -e match:"a.conf: mode 0602" "$D" -n -f a.conf
	chmod 644 a.conf
	chown 54321 a.conf
	atf_check -s exit:1 -e match:"a.conf: owned by uid 54321" \
	    "$D" -n -f a.conf
	chown 0 a.conf
	atf_check -e ignore "$D" -n -f a.conf
	: >b.conf
	chmod 666 b.conf
	echo "include \"$PWD/b.conf\"" >a.conf
	atf_check -s exit:1 -e match:"a.conf:1: .*b.conf: mode 0666" \
	    "$D" -n -f a.conf
	atf_check -s exit:1 -e match:"regular file" "$D" -n -f .
	atf_check -s exit:1 -e match:"none: No such file" "$D" -n -f none
	printf 'state "/a\0b"\n' >a.conf
	atf_check -s exit:1 -e match:"NUL" "$D" -n -f a.conf
}

atf_test_case uids
uids_head()
{
	atf_set descr "a range that meets users of the host is refused"
}
uids_body()
{
	echo "uid 60000 to 70000" >a.conf
	atf_check -s exit:1 -e match:"^a.conf:1: uid 60000 to 70000: " \
	    "$D" -n -f a.conf
}

atf_test_case limits
limits_head()
{
	atf_set descr "a default may not be above the limit"
}
limits_body()
{
	printf 'limits { memory 1G }\n' >a.conf
	atf_check -s exit:1 -e inline:"a.conf:1: memory: default above the\
 limit\n" "$D" -n -f a.conf
	printf 'limits { log 1G }\n' >a.conf
	atf_check -s exit:1 -e inline:"a.conf:1: log: more per exec than per\
 sandbox\n" "$D" -n -f a.conf
}

atf_test_case rules
rules_head()
{
	atf_set descr "what the rules come to for a user, and how many there are"
}
rules_body()
{
	cat >a.conf <<-EOT
		allow user 54321 all
		deny delete any on own
		allow admin group 54321
	EOT
	cat >want <<-EOT
		RIGHT   ON      MAY  BY
		create  -       yes  a.conf:1
		exec    own     yes  a.conf:1
		exec    others  yes  a.conf:1
		files   own     yes  a.conf:1
		files   others  yes  a.conf:1
		stop    own     yes  a.conf:1
		stop    others  yes  a.conf:1
		delete  own     no   a.conf:2
		delete  others  yes  a.conf:1
		events  own     yes  a.conf:1
		events  others  yes  a.conf:1
		images  -       no   default
		admin   -       yes  a.conf:3
	EOT
	atf_check -o save:out -e ignore "$D" -n -u 54321 -f a.conf
	sed '/^$/,$d' out >rights
	atf_check -o file:want cat rights
	atf_check -o match:"^delete  own     no   a.conf:2$" \
	    -o match:"^delete  others  no   default$" \
	    -o match:"^exec    own     yes  default$" \
	    -o match:"^admin   -       no   default$" \
	    -e ignore "$D" -n -u nobody -f a.conf
	atf_check -o match:"^admin   -       yes  root$" -o not-match:" no " \
	    -e ignore "$D" -n -u root -f a.conf
	cat >c.conf <<-EOT
		limits any { sandboxes 3 memory 1G total, 512M per sandbox }
		limits user 54321 { sandboxes 4 creates 5 per 1m log 1M total
		    disk 3G total }
		limits user 1 { execs 2 cpus 1.5 total }
	EOT
	cat >want <<-EOT
		LIMIT               OF    MOST            BY
		sandboxes           user  4               c.conf:2
		execs               user  -               -
		memory              user  1073741824      c.conf:1
		cpus                user  -               -
		pids                user  -               -
		disk                user  3221225472      c.conf:3
		memory per sandbox  user  536870912       c.conf:1
		cpus per sandbox    user  -               -
		pids per sandbox    user  -               -
		disk per sandbox    user  -               -
		creates             user  5 per 60s       c.conf:2
		requests            user  -               -
		clients             user  128             -
		subscriptions       user  -               -
		log                 user  1048576         c.conf:2
	EOT
	atf_check -o save:out -e ignore "$D" -n -u 54321 -f c.conf
	sed '1,/^$/d' out >limits
	atf_check -o file:want cat limits
	atf_check -o match:"^sandboxes           user  -  *-$" -e ignore \
	    "$D" -n -u root -f c.conf
	atf_check -s exit:1 -e match:"user no such: no such user" \
	    "$D" -n -u "no such" -f a.conf
	atf_check -s exit:1 -e match:"usage:" "$D" -u root -f a.conf
	for i in $(seq 256); do
		echo "deny any"
	done >b.conf
	atf_check -e ignore "$D" -n -f b.conf
	echo "deny any" >>b.conf
	atf_check -s exit:1 -e inline:"b.conf:257: deny: too many rules:\
 the limit is 256\n" \
	    "$D" -n -f b.conf
}

atf_test_case usage
usage_head()
{
	atf_set descr "wrong arguments are refused"
}
usage_body()
{
	atf_check -s exit:1 -e match:"usage: sandboxd" "$D" -x
	atf_check -s exit:1 -e match:"usage: sandboxd" "$D" more
	# A child's arguments do not make one.
	atf_check -s exit:1 -e match:"not started by sandboxd|recv" \
	    "$D" store 1 0
}

atf_test_case manual
manual_head()
{
	atf_set descr "the pages have every word and option, and no others"
}
manual_body()
{
	page=$SBX_TOP/man/sandboxd.conf.5
	sed -n 's/^	{ "\([a-z]*\)",.*/\1/p' "$SBX_TOP/sandboxd/parse.y" |
	    sort >words
	[ "$(wc -l <words)" -gt 30 ] || atf_fail "no words in the grammar"
	# Words of the page are those in its lines with Ic.
	sed -n '/^\.\(It \|\)\(Xo \|\)Ic /p;/ Ic /p' "$page" |
	    tr -c 'a-z\n' ' ' | tr ' ' '\n' | sort -u >said
	atf_check comm -23 words said
	s=$(sed -n 's/.*getopt(argc, argv, "\([a-zA-Z:]*\)").*/\1/p' \
	    "$SBX_TOP/sandboxd/sandboxd.c" | tr -d : | sed 's/./&\n/g')
	atf_check_equal "$(echo "$s" | sort | tr -d '\n')" \
	    "$(sed -n 's/^\.It Fl \([a-zA-Z]\).*/\1/p' \
	    "$SBX_TOP/man/sandboxd.8" | sort | tr -d '\n')"
}

atf_test_case not_offered
not_offered_head()
{
	atf_set descr 'what the manual says is not offered is refused as such'
}
not_offered_body()
{
	sed -n '/^\.Sh WHAT IS NOT OFFERED/,/^\.Sh EXIT/s/^\.Dl //p' \
	    "$SBX_TOP/man/sandboxd.8" | sed 's/\\(dq/"/g' >said
	[ "$(wc -l <said)" -ge 1 ] || atf_fail "the manual names none"
	while read -r line; do
		echo "$line" >one.conf
		atf_check -s exit:1 -e match:"not supported by this version" \
		    "$D" -n -f one.conf
	done <said
}

atf_init_test_cases()
{
	atf_add_test_case manual
	atf_add_test_case not_offered
	atf_add_test_case defaults
	atf_add_test_case roundtrip
	atf_add_test_case errors
	atf_add_test_case include
	atf_add_test_case owner
	atf_add_test_case uids
	atf_add_test_case limits
	atf_add_test_case rules
	atf_add_test_case usage
}
