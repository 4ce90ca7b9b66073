# Every other command: names, filters, numbers, files and sockets that are not
# what they must be.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/table.subr"

atf_test_case names cleanup
names_head()
{
	atf_set descr '(b16) (b65) names, filters and sequences, and states'
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
(b18) | show ''                         | 64 | empty argument (invalid_argument)
(b18) | stop ''                         | 64 | empty argument
(b18) | resume ''                       | 64 | empty argument
(b18) | delete ''                       | 64 | empty argument
(b18) | delete box ''                   | 64 | empty argument
(b18) | ps ''                           | 64 | empty argument
(b18) | events ''                       | 64 | empty argument
(b18) | logs ''                         | 64 | empty argument
(b18) | wait ''                         | 125 | empty argument
(b17) | show .                          | 64 | invalid id: ".": must be id or uid/id
(b17) | show ..                         | 64 | invalid id: "..": must be
(b17) | show ../box                     | 64 | invalid id: "../box": must be
(b17) | show %2e                        | 64 | invalid id: "%2e": must be
(b17) | show box/                       | 64 | invalid id: "box/": must be
(b17) | show root/box                   | 64 | invalid id: "root/box": must be
(b17) | show 00/box                     | 64 | invalid id: "00/box": must be
(b17) | show 1/2/box                    | 64 | invalid id: "1/2/box": must be
(b17) | show 4294967295/box             | 64 | invalid id: "4294967295/box": must be
(b17) | show box.1                      | 64 | invalid id: "box.1": must be
(b17) | show 'box '                     | 64 | invalid id: "box ": must be
(b17) | show "box$NL"                   | 64 | invalid id: "box?": must be
(b17) | show "$ESC[31mbox"              | 64 | invalid id: "?[31mbox": must be
(b17) | show "$HIGH"                    | 64 | invalid id: "?": must be
(b17) | show $(repeat 65)               | 64 | must be id or uid/id
(b17) | show $(repeat 102)              | 75 | invalid id: too long: the limit is 101 (limit_exceeded)
(b17) | show $(repeat 100000)           | 75 | invalid id: too long: the limit is 101
(b17) | show -box                       | 64 | unknown option: -b
(b17) | show -- -box                    | 64 | invalid id: "-box": must be
(b16) | show BOX                        | 66 | BOX: no such sandbox (not_found)
(b16) | show bo                         | 66 | bo: no such sandbox
(b16) | show 7/box                      | 66 | 7/box: no such sandbox
(b16) | stop nosuch                     | 66 | nosuch: no such sandbox
(b16) | resume nosuch                   | 66 | nosuch: no such sandbox
(b16) | delete nosuch                   | 66 | nosuch: no such sandbox
(b17) | delete box.1                    | 64 | invalid id: "box.1": must be
(b69) | delete                          | 64 | neither an id nor a label given
(b69) | stop                            | 64 | neither an id nor a label given
(b16) | pause nosuch                    | 66 | nosuch: no such sandbox
(b16) | unpause nosuch                  | 66 | nosuch: no such sandbox
(b16) | restart nosuch                  | 66 | nosuch: no such sandbox
(b61) | delete -l ''                    | 64 | invalid argument of -l:
(b61) | delete -l =                     | 64 | invalid argument of -l: =
(b61) | delete -l 'a b'                 | 64 | invalid labels: "a b": a key is
(b16) | events nosuch                   | 66 | nosuch: no such sandbox
(b16) | ps nosuch                       | 66 | nosuch: no such sandbox
(b17) | wait box                        | 125 | invalid exec: "box": must be id.number or uid/id.number
(b17) | wait box.                       | 125 | invalid exec: "box.": must be
(b17) | wait box.0                      | 125 | invalid exec: "box.0": must be
(b17) | wait box.01                     | 125 | invalid exec: "box.01": must be
(b17) | wait box.-1                     | 125 | invalid exec: "box.-1": must be
(b17) | wait box.1x                     | 125 | invalid exec: "box.1x": must be
(b17) | wait .1                         | 125 | invalid exec: ".1": must be
(b17) | wait ../box.1                   | 125 | invalid exec: "../box.1": must be
(b17) | wait -t 2592001 box ready       | 125 | limit_exceeded
(b17) | wait box up                     | 125 | invalid states: "up": is no state of a sandbox
(b17) | wait box ready,                 | 125 | invalid states: "": is no state of a sandbox
(b17) | wait box.1 ready                | 125 | invalid id: "box.1": must be
(b17) | wait box.18446744073709551616   | 125 | invalid exec: "box.18446744073709551616": must be
(b17) | wait box.18446744073709551615   | 125 | box.18446744073709551615: no such exec
(b17) | logs box.2                      | 66 | box.2: no such exec
(b17) | logs $(repeat 102)              | 75 | invalid exec: too long: the limit is 101
(b61) | list -S ''                      | 64 | invalid argument of -S:
(b61) | list -S nosuch                  | 64 | invalid state: "nosuch": is no state of a sandbox
(b61) | list -S Ready                   | 64 | invalid state: "Ready": is no
(b61) | list -S $(repeat 1000)          | 64 | invalid state: is no state of a sandbox
(b61) | list -S ready -S failed         | 64 | option given twice: -S
(b61) | list -l ''                      | 64 | invalid argument of -l:
(b61) | list -l =x                      | 64 | invalid argument of -l: =x
(b61) | list -l 'a b'                   | 64 | invalid labels: "a b": a key is
(b61) | list -l a -l a=1                | 64 | name given twice: -l a=1
(b61) | list $(seq -f '-l k%.0f' 65)    | 75 | invalid labels: too many entries: the limit is 64
(b62) | events -H 0.999                 | 64 | invalid argument of -H: 0.999: must be 1 to 3600
(b62) | events -H 3601                  | 64 | invalid argument of -H: 3601
(b62) | events -l =x                    | 64 | invalid argument of -l: =x: must be name or name=value
(b62) | events -l a=1 -l a=2            | 64 | name given twice: -l a=2
(b62) | events -t ''                    | 64 | invalid argument of -t: empty: must be a type of events, or audit
(b62) | events -n 1 -n 2                | 64 | option given twice: -n
(b62) | events -n ''                    | 64 | invalid argument of -n:
(b62) | events -n x                     | 64 | invalid argument of -n: x: must be the number of an event
(b62) | events -n -1                    | 64 | invalid argument of -n: -1
(b62) | events -n +1                    | 64 | invalid argument of -n: +1
(b62) | events -n 1e3                   | 64 | invalid argument of -n: 1e3
(b62) | events -n 0x10                  | 64 | invalid argument of -n: 0x10
(b62) | events -n ' 1'                  | 64 | invalid argument of -n:  1
(b62) | events -n 18446744073709551617  | 64 | invalid argument of -n: 18446744073709551617
(b62) | events -n 9223372036854775807   | 64 | invalid from: 9223372036854775807: the newest is
(b62) | events -n 9223372036854775808   | 64 | invalid argument of -n: 9223372036854775808
(b62) | events -n 1000                  | 64 | invalid from: 1000: the newest is
(b62) | events -f -n 1000               | 64 | invalid from: 1000: the newest is
(b62) | events -n 1000 box              | 64 | invalid from: 1000: the newest is
(b62) | events -n 1 -n 2                | 64 | option given twice: -n
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
(b65) | exec box true                   | 125 | box is deleted (wrong_state)
(b65) | stop box                        | 75 | while it is deleted (wrong_state)
(b65) | resume box                      | 75 | while it is deleted
END
	unchanged

	# (b65) What the state of a sandbox does not allow.
	box -i still
	atf_check "$CTL" stop still
	before
	refused <<'END'
| arguments                       | status | what the answer says
(b65) | exec still true                 | 125 | still is stopped (wrong_state)
(b65) | exec -d still true              | 125 | still is stopped
(b65) | stop still                      | 75 | still: cannot stop while it is stopped (wrong_state)
END
	unchanged
	atf_check "$CTL" delete still
	daemon_stop
}
names_cleanup()
{
	daemon_cleanup
}

atf_test_case images cleanup
images_head()
{
	atf_set descr '(aD1) images: names, files, archives, and what is not there'
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
(b69) | image                           | 64 | incomplete command: image
(b69) | image other                     | 64 | unknown command: other
(b69) | image base x                    | 64 | extra argument: x
(b69) | image import                    | 64 | missing argument
(b69) | image import $tag               | 64 | missing argument
(b69) | image import $tag a b           | 64 | extra argument: b
(b22) | image import '' junk            | 64 | empty argument
(b22) | image import A junk             | 64 | invalid name: "A": must be [host/]name[:tag]
(b22) | image import ../$tag junk       | 64 | must be [host/]name[:tag]
(b22) | image import "$tag:a b" junk    | 64 | must be [host/]name[:tag]
(b22) | image import $tag@sha256:$(repeat 64 a) junk | 64 | must be [host/]name[:tag]
(b22) | image import $(repeat 256) junk | 75 | image name of 256 bytes: the limit is 255
(b69) | image import $tag ''            | 64 | empty argument
(b69) | image import $tag nosuch        | 66 | nosuch: No such file or directory
(b69) | image import $tag dir           | 64 | Is a directory
(b69) | image import $tag /dev/null     | 64 | the archive is empty (invalid_argument)
(b69) | image import $tag -             | 64 | the archive is empty
(b69) | image import $tag junk          | 69 | (engine_error)
(b69) | image import $tag long          | 69 | (engine_error)
END
	unchanged
	atf_check -s exit:1 -o ignore -e ignore \
	    docker -H "unix://$ENGINE" image inspect "$tag"

	# What is no name of an image is none by its number either.
	id=$(engine_docker image inspect -f '{{.Id}}' sandbox-base)
	short=$(echo "${id#sha256:}" | cut -c 1-12)
	refused <<'END'
| arguments                       | status | what the answer says
(b21) | create -I $tag                  | 66 | no such image: in
(b21) | create -I $tag:1.0              | 66 | :1.0 (not_found)
(b22) | create -I $short                | 66 | no such image:
(b22) | create -I $id                   | 66 | no such image: sha256:
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
	atf_set descr '(aD1) command lines: unknown, short, ambiguous, too many words'
	atf_set timeout 600
}
lines_body()
{
	# None of them gets as far as to ask for a daemon.
	daemon_conf
	bare=$SBX_BIN/sandboxctl
	refused "$bare" <<'END'
| arguments                       | status | what the answer says
(b69) |                                 | 64 | no command given
(b69) | ''                              | 64 | unknown command:
(b69) | --                              | 64 | no command given
(b69) | -- --                           | 64 | unknown command: --
(b69) | -x                              | 64 | unknown option: -x
(b69) | --help                          | 64 | unknown option: --
(b69) | -s                              | 64 | option needs an argument: -s
(b69) | -s '' ping                      | 64 | invalid argument of -s: empty: must be the path of a socket
(b69) | -s a -s b ping                  | 64 | option given twice: -s
(b69) | nosuch                          | 64 | unknown command: nosuch
(b69) | "$ESC[31m"                      | 64 | unknown command: \033[31m
(b69) | "$HIGH"                         | 64 | unknown command: \377
(b69) | $(repeat 1000)                  | 64 | unknown command: xxxxxxxx
(b69) | l                               | 64 | ambiguous command: l
(b69) | s                               | 64 | ambiguous command: s
(b69) | createx                         | 64 | unknown command: createx
(b69) | create x                        | 64 | extra argument: x
(b69) | create -                        | 64 | extra argument: -
(b69) | create -z                       | 64 | unknown option: -z
(b69) | create --help                   | 64 | unknown option: --
(b69) | create -i                       | 64 | option needs an argument: -i
(b69) | list x                          | 64 | extra argument: x
(b69) | ps a b                          | 64 | extra argument: b
(b69) | events a b                      | 64 | extra argument: b
(b69) | show                            | 64 | missing argument
(b69) | show a b                        | 64 | extra argument: b
(b69) | stop -g 0 a                     | 64 | invalid argument of -g: 0: must be 0.001 to 600
(b69) | stop -g 600.001 a               | 64 | invalid argument of -g: 600.001: must be 0.001 to 600
(b69) | restart -g x a                  | 64 | invalid argument of -g: x: must be 0.001 to 600
(b69) | logs                            | 64 | missing argument
(b69) | wait                            | 125 | missing argument
(b69) | wait a b c                      | 125 | extra argument: c
(b69) | wait -t 0 a.1                   | 125 | invalid argument of -t: 0: must be 0.001 to 2592000
(b69) | wait a ''                       | 125 | empty argument
(b69) | ping x                          | 64 | extra argument: x
(b69) | reload x                        | 64 | extra argument: x
(b69) | status x                        | 64 | extra argument: x
(b69) | version x                       | 64 | extra argument: x
(b69) | log                             | 64 | incomplete command: log
(b69) | log x                           | 64 | unknown command: x
(b69) | log verify x y                  | 64 | extra argument: y
(b69) | log dump x                      | 64 | extra argument: x
END
	mkdir dir
	: >file
	long=$PWD/$(repeat 108)
	refused "$bare" <<'END'
| arguments                       | status | what the answer says
(b70) | -s $long ping                   | 64 | the path of a socket has at most 107 bytes
(b70) | -s nosuch ping                  | 69 | nosuch: No such file or directory (unavailable)
(b70) | -s file ping                    | 69 | file: Connection refused
(b70) | -s dir ping                     | 69 | dir: Connection refused
(b70) | -s file/x ping                  | 69 | file/x: Not a directory
(b70) | -s /dev/null ping               | 69 | /dev/null: Connection refused
(b70) | -s $(repeat 100000) ping        | 64 | the path of a socket has at most 107 bytes
(b70) | -s / ping                       | 69 | /: Connection refused
(b70) | -s @a ping                      | 69 | @a: No such file or directory
(b70) | -s "$ESC[31m$HIGH" ping           | 69 | \033[31m\377: No such file or directory
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
(b70) | ping                            | 77 | /u/s: the socket is not root's (permission_denied)
(b70) | exec box true                   | 125 | the socket is not root's
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
