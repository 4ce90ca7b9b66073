# Every other command: names, filters, numbers, files and sockets that are not
# what they must be.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/table.subr"

atf_test_case names cleanup
names_head()
{
	atf_set descr 'names of sandboxes and commands, filters and sequences'
	atf_set timeout 600
}
names_body()
{
	world
	box -i box
	atf_check "$CTL" exec box true
	before
	refused <<'END'
| arguments                       | status | what the answer says
| show ''                         | 64 | empty argument (invalid_argument)
| stop ''                         | 64 | empty argument
| resume ''                       | 64 | empty argument
| delete ''                       | 64 | empty argument
| delete box ''                   | 64 | empty argument
| ps ''                           | 64 | empty argument
| events ''                       | 64 | empty argument
| logs ''                         | 64 | empty argument
| wait ''                         | 125 | empty argument
| show .                          | 64 | invalid id: ".": must be id or uid/id
| show ..                         | 64 | invalid id: "..": must be
| show ../box                     | 64 | invalid id: "../box": must be
| show %2e                        | 64 | invalid id: "%2e": must be
| show box/                       | 64 | invalid id: "box/": must be
| show root/box                   | 64 | invalid id: "root/box": must be
| show 00/box                     | 64 | invalid id: "00/box": must be
| show 1/2/box                    | 64 | invalid id: "1/2/box": must be
| show 4294967295/box             | 64 | invalid id: "4294967295/box": must be
| show box.1                      | 64 | invalid id: "box.1": must be
| show 'box '                     | 64 | invalid id: "box ": must be
| show "box$NL"                   | 64 | invalid id: "box?": must be
| show "$ESC[31mbox"              | 64 | invalid id: "?[31mbox": must be
| show "$HIGH"                    | 64 | invalid id: "?": must be
| show $(repeat 65)               | 64 | must be id or uid/id
| show $(repeat 102)              | 75 | invalid id: too long: the limit is 101 (limit_exceeded)
| show $(repeat 100000)           | 75 | invalid id: too long: the limit is 101
| show -box                       | 64 | unknown option: -b
| show -- -box                    | 64 | invalid id: "-box": must be
| show BOX                        | 66 | BOX: no such sandbox (not_found)
| show bo                         | 66 | bo: no such sandbox
| show 7/box                      | 66 | 7/box: no such sandbox
| stop nosuch                     | 66 | nosuch: no such sandbox
| resume nosuch                   | 66 | nosuch: no such sandbox
| delete nosuch                   | 66 | nosuch: no such sandbox
| delete box.1                    | 64 | invalid id: "box.1": must be
| delete                          | 64 | neither an id nor a label given
| delete -l ''                    | 64 | invalid argument of -l:
| delete -l =                     | 64 | invalid argument of -l: =
| delete -l 'a b'                 | 64 | invalid labels: "a b": a key is
| events nosuch                   | 66 | nosuch: no such sandbox
| ps nosuch                       | 66 | nosuch: no such sandbox
| wait box                        | 125 | invalid exec: "box": must be id.number or uid/id.number
| wait box.                       | 125 | invalid exec: "box.": must be
| wait box.0                      | 125 | invalid exec: "box.0": must be
| wait box.01                     | 125 | invalid exec: "box.01": must be
| wait box.-1                     | 125 | invalid exec: "box.-1": must be
| wait box.1x                     | 125 | invalid exec: "box.1x": must be
| wait .1                         | 125 | invalid exec: ".1": must be
| wait ../box.1                   | 125 | invalid exec: "../box.1": must be
| wait box.18446744073709551616   | 125 | invalid exec: "box.18446744073709551616": must be
| wait box.18446744073709551615   | 125 | box.18446744073709551615: no such exec
| logs box.2                      | 66 | box.2: no such exec
| logs $(repeat 102)              | 75 | invalid exec: too long: the limit is 101
| list -S ''                      | 64 | invalid argument of -S:
| list -S nosuch                  | 64 | invalid state: "nosuch": is no state of a sandbox
| list -S Ready                   | 64 | invalid state: "Ready": is no
| list -S $(repeat 1000)          | 64 | invalid state: is no state of a sandbox
| list -S ready -S failed         | 64 | option given twice: -S
| list -l ''                      | 64 | invalid argument of -l:
| list -l =x                      | 64 | invalid argument of -l: =x
| list -l 'a b'                   | 64 | invalid labels: "a b": a key is
| list -l a -l a=1                | 64 | name given twice: -l a=1
| list $(seq -f '-l k%.0f' 65)    | 75 | invalid labels: too many entries: the limit is 64
| events -n ''                    | 64 | invalid argument of -n:
| events -n x                     | 64 | invalid argument of -n: x
| events -n -1                    | 64 | invalid argument of -n: -1
| events -n +1                    | 64 | invalid argument of -n: +1
| events -n 1e3                   | 64 | invalid argument of -n: 1e3
| events -n 9223372036854775808   | 64 | invalid argument of -n: 9223372036854775808
| events -n 1000                  | 64 | invalid from: 1000: the newest is
| events -f -n 1000               | 64 | invalid from: 1000: the newest is
| events -n 1000 box              | 64 | invalid from: 1000: the newest is
| events -n 1 -n 2                | 64 | option given twice: -n
END
	unchanged
	# One behind the newest is where somebody goes on who has them all.
	last=$("$CTL" events box | awk '{ n = $5 } END { print n }')
	atf_check "$CTL" events -n $((last + 1)) box
	atf_check -s exit:64 -e match:": the newest is $last " \
	    "$CTL" events -n $((last + 2)) box

	# Not one's own is not there, and what is deleted stays deleted.
	new_uid
	cat >user <<-EOT
		#!/bin/sh
		. "$(atf_get_srcdir)/../lib/sandboxd.subr"
		as_user $NEW_UID "$CTL" "\$@"
	EOT
	chmod 755 user
	before
	atf_check -s exit:66 -e inline:"sandboxctl: box: no such sandbox\
 (not_found)\n" ./user show box
	atf_check -s exit:66 -e inline:"sandboxctl: nosuch: no such sandbox\
 (not_found)\n" ./user show nosuch
	atf_check -s exit:66 -e inline:"sandboxctl: 0/box: no such sandbox\
 (not_found)\n" ./user delete 0/box
	atf_check -s exit:77 -e match:"admin: not permitted" ./user reload
	atf_check -s exit:77 -e match:"admin: not permitted" \
	    ./user log verify
	atf_check -s exit:77 -e match:"images: not permitted" \
	    ./user image import x /dev/null
	unchanged
	atf_check "$CTL" delete box
	atf_check "$CTL" delete box
	before
	refused <<'END'
| arguments                       | status | what the answer says
| exec box true                   | 125 | box is deleted (wrong_state)
| stop box                        | 75 | while it is deleted (wrong_state)
| resume box                      | 75 | while it is deleted
END
	unchanged
	daemon_stop
}
names_cleanup()
{
	daemon_cleanup
}

atf_test_case images cleanup
images_head()
{
	atf_set descr 'images: names, files, archives, and what is not there'
	atf_set timeout 600
}
images_body()
{
	world
	echo "in$$" >tag
	tag=$(cat tag)
	echo junk >junk
	seq 100000 >long
	mkdir dir
	before
	refused <<'END'
| arguments                       | status | what the answer says
| image                           | 64 | incomplete command: image
| image other                     | 64 | unknown command: other
| image base x                    | 64 | extra argument: x
| image import                    | 64 | missing argument
| image import $tag               | 64 | missing argument
| image import $tag a b           | 64 | extra argument: b
| image import '' junk            | 64 | empty argument
| image import A junk             | 64 | invalid name: "A": must be [host/]name[:tag]
| image import ../$tag junk       | 64 | must be [host/]name[:tag]
| image import "$tag:a b" junk    | 64 | must be [host/]name[:tag]
| image import $tag@sha256:$(repeat 64 a) junk | 64 | must be [host/]name[:tag]
| image import $(repeat 256) junk | 75 | image name of 256 bytes: the limit is 255
| image import $tag ''            | 64 | empty argument
| image import $tag nosuch        | 66 | nosuch: No such file or directory
| image import $tag dir           | 64 | Is a directory
| image import $tag /dev/null     | 64 | the archive is empty (invalid_argument)
| image import $tag -             | 64 | the archive is empty
| image import $tag junk          | 69 | (engine_error)
| image import $tag long          | 69 | (engine_error)
END
	unchanged
	atf_check -s exit:1 -o ignore -e ignore \
	    docker -H "unix://$ENGINE" image inspect "$tag"

	# What is no name of an image is none by its number either.
	id=$(engine_docker image inspect -f '{{.Id}}' sandbox-base)
	short=$(echo "${id#sha256:}" | cut -c 1-12)
	refused <<'END'
| arguments                       | status | what the answer says
| create -I $tag                  | 66 | no such image: in
| create -I $tag:1.0              | 66 | :1.0 (not_found)
| create -I $short                | 66 | no such image:
| create -I $id                   | 66 | no such image: sha256:
END
	atf_check_equal "$(_containers_of "$D")" ""
	atf_check_equal "$("$CTL" list | grep -c failed)" 4
	daemon_stop
}
images_cleanup()
{
	[ ! -f tag ] || docker -H "unix://$ENGINE" rmi -f "$(cat tag)" \
	    >/dev/null 2>&1
	daemon_cleanup
}

atf_test_case lines cleanup
lines_head()
{
	atf_set descr 'command lines: unknown, short, ambiguous, too many words'
	atf_set timeout 600
}
lines_body()
{
	# None of them gets as far as to ask for a daemon.
	daemon_conf
	bare=$SBX_BIN/sandboxctl
	refused "$bare" <<'END'
| arguments                       | status | what the answer says
|                                 | 64 | no command given
| ''                              | 64 | unknown command:
| --                              | 64 | no command given
| -- --                           | 64 | unknown command: --
| -x                              | 64 | unknown option: -x
| --help                          | 64 | unknown option: --
| -s                              | 64 | option needs an argument: -s
| -s '' ping                      | 64 | invalid argument of -s:
| -s a -s b ping                  | 64 | option given twice: -s
| nosuch                          | 64 | unknown command: nosuch
| "$ESC[31m"                      | 64 | unknown command: \033[31m
| "$HIGH"                         | 64 | unknown command: \377
| $(repeat 1000)                  | 64 | unknown command: xxxxxxxx
| l                               | 64 | ambiguous command: l
| s                               | 64 | ambiguous command: s
| createx                         | 64 | unknown command: createx
| create x                        | 64 | extra argument: x
| create -                        | 64 | extra argument: -
| create -z                       | 64 | unknown option: -z
| create --help                   | 64 | unknown option: --
| create -i                       | 64 | option needs an argument: -i
| list x                          | 64 | extra argument: x
| ps a b                          | 64 | extra argument: b
| events a b                      | 64 | extra argument: b
| show                            | 64 | missing argument
| show a b                        | 64 | extra argument: b
| stop                            | 64 | missing argument
| stop a b                        | 64 | extra argument: b
| resume                          | 64 | missing argument
| logs                            | 64 | missing argument
| wait                            | 125 | missing argument
| wait a b                        | 125 | extra argument: b
| ping x                          | 64 | extra argument: x
| reload x                        | 64 | extra argument: x
| status x                        | 64 | extra argument: x
| version x                       | 64 | extra argument: x
| log                             | 64 | incomplete command: log
| log x                           | 64 | unknown command: x
| log verify x                    | 64 | extra argument: x
END
	mkdir dir
	: >file
	long=$PWD/$(repeat 108)
	refused "$bare" <<'END'
| arguments                       | status | what the answer says
| -s $long ping                   | 64 | the path of a socket has at most 107 bytes
| -s nosuch ping                  | 69 | nosuch: No such file or directory (unavailable)
| -s file ping                    | 69 | file: Connection refused
| -s dir ping                     | 69 | dir: Connection refused
| -s file/x ping                  | 69 | file/x: Not a directory
| -s /dev/null ping               | 69 | /dev/null: Connection refused
END
}
lines_cleanup()
{
	daemon_cleanup
}

atf_test_case impostor cleanup
impostor_head()
{
	atf_set descr 'a socket that somebody else has made is not talked to'
	atf_set timeout 600
}
impostor_body()
{
	daemon_conf
	new_uid
	mine=$NEW_UID
	mkdir "$D/u"
	chown "$mine" "$D/u"
	AS_GROUPS='' as_user "$mine" "$(atf_get_srcdir)/h_listen" "$D/u/s" &
	pid=$!
	echo $pid >pid
	await '[ -S "$D/u/s" ]'
	cat >other <<-EOT
		#!/bin/sh
		exec "$SBX_BIN/sandboxctl" -s "$D/u/s" "\$@"
	EOT
	chmod 755 other
	refused ./other <<'END'
| arguments                       | status | what the answer says
| ping                            | 77 | /u/s: the socket is not root's (permission_denied)
| exec box true                   | 125 | the socket is not root's
END
	kill -KILL $pid
}
impostor_cleanup()
{
	[ ! -f pid ] || kill -KILL "$(cat pid)" 2>/dev/null
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case names
	atf_add_test_case images
	atf_add_test_case lines
	atf_add_test_case impostor
}
