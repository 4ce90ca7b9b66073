# Calls on a real sandbox, by libsandbox: what each of them does and refuses.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# A daemon and a sandbox; ./file op path: a call in it, ./run: a command.
begin()
{
	world
	box
	cat >file <<-end
	#!/bin/sh
	o=
	while case \$1 in -*) true ;; *) false ;; esac; do
		case \$1 in
		-s) o="\$o -s"; shift ;;
		*) o="\$o \$1 \$2"; shift 2 ;;
		esac
	done
	exec "$(atf_get_srcdir)/h_file" \$o "$SOCK" "$BOX" "\$@"
	end
	cat >run <<-end
	#!/bin/sh
	exec "$CTL" exec "$BOX" sh -c "\$*"
	end
	chmod 755 file run
	for f in 12 3 abc new x z; do
		printf "$f" >in.$f
	done
}

atf_test_case stat cleanup
stat_head()
{
	atf_set descr 'stat: files, links, what is not there'
	atf_set timeout 120
}
stat_body()
{
	begin
	./run 'printf hello >f; chmod 640 f; ln -s f l; ln -s nowhere n;
	    mkfifo p; mkdir d'
	atf_check -o match:'^100640 [0-9]* 5 f  ok$' ./file stat f
	atf_check -o match:'^100640 [0-9]* 5 l  ok$' ./file stat l
	atf_check -o match:'^120777 [0-9]* 1 l f ok$' ./file -f 2 stat l
	atf_check -o match:'^10644 [0-9]* 0 p  ok$' ./file stat p
	atf_check -o match:'^4[0-7]* .* /workspace/d  ok$' \
	    ./file stat /workspace/d
	atf_check -s exit:1 -e match:'file_not_found: ' ./file stat n
	atf_check -s exit:1 -e match:'file_not_found: ' ./file stat a/b
	atf_check -s exit:1 -e match:'not_directory: ' ./file stat f/b
	atf_check -s exit:1 -e match:'invalid_path: ' ./file stat ''
	daemon_stop
}
stat_cleanup()
{
	daemon_cleanup
}

atf_test_case bytes cleanup
bytes_head()
{
	atf_set descr 'every byte there and back, by message and by pipe'
	atf_set timeout 180
}
bytes_body()
{
	begin
	awk 'BEGIN { for (i = 0; i < 256; i++) printf "\\%03o", i }' >oct
	printf "$(cat oct)" >all
	atf_check_equal 256 "$(wc -c <all)"
	atf_check -o inline:'256 1\n' ./file -f 4 write b <all
	atf_check -o file:all ./file read b
	atf_check -o inline:'256 0\n' ./file -f 4 -s write b <all
	atf_check -o file:all ./file read b
	atf_check -o inline:'0 1\n' ./file -f 4 write empty </dev/null
	atf_check -o empty ./file read empty
	atf_check -o inline:'0 0\n' ./file -f 4 -s write empty </dev/null
	# More than any buffer on the way holds.
	cp all large
	while [ "$(wc -c <large)" -lt 2097152 ]; do
		cat large large >more
		mv more large
	done
	atf_check -o inline:'2097152 1\n' ./file -f 4 -s write large <large
	atf_check -o file:large ./file read large
	atf_check -o save:sum ./run 'md5sum <large'
	atf_check_equal "$(md5sum <large)" "$(cat sum)"
	# A part of it, and behind its end.
	atf_check -o inline:'ABC' ./file -o 65 -n 3 read b
	atf_check -o empty ./file -o 256 read b
	atf_check -o empty ./file -n 0 read b
	atf_check -s exit:1 -e match:'too_large: 256 bytes: the limit is 255' \
	    ./file -l 255 read b
	daemon_stop
}
bytes_cleanup()
{
	daemon_cleanup
}

atf_test_case write cleanup
write_head()
{
	atf_set descr 'write: whole or not at all, in place, refusals'
	atf_set timeout 180
}
write_body()
{
	begin
	./run 'printf old >f; chmod 751 f; ln -s f l; mkdir d; mkfifo p;
	    mkdir ro; chmod 555 ro; ln -s x y; ln -s y x'
	# The permissions stay; a link stays and leads to the new file.
	atf_check -o inline:'3 0\n' ./file -f 4 write l <in.new
	atf_check -o inline:'new' ./file read f
	atf_check -o match:'^100751 ' ./file stat f
	atf_check -o match:'^120777 ' ./file -f 2 stat l
	atf_check -o inline:'1 1\n' ./file -f 4 -m 600 write g <in.x
	atf_check -o match:'^100600 ' ./file stat g
	atf_check -o inline:'1 1\n' ./file -f 4 write h <in.x
	atf_check -o match:'^100644 ' ./file stat h
	# In place, at an offset, at the end, emptied.
	atf_check -o inline:'2 0\n' ./file -o 2 write f <in.12
	atf_check -o inline:'ne12' ./file read f
	atf_check -o ignore ./file -f 256 write f <in.3
	atf_check -o inline:'ne123' ./file read f
	atf_check -o ignore ./file -f 128 write f <in.z
	atf_check -o inline:'z' ./file read f
	# Directories that are missing.
	atf_check -s exit:1 -e match:'file_not_found' \
	    ./file -f 4 write a/b/c <in.x
	atf_check -o ignore ./file -f 12 write a/b/c <in.x
	atf_check -o inline:'x' ./file read a/b/c
	# What is there already.
	atf_check -s exit:1 -e match:'file_exists' \
	    ./file -f 20 write f <in.x
	atf_check -o ignore ./file -f 20 write new <in.x
	for f in 0 4; do
		atf_check -s exit:1 -e match:'is_directory' \
		    ./file -f $f write d <in.x
		atf_check -s exit:1 -e match:'is_directory' \
		    ./file -f $f write d/ <in.x
		atf_check -s exit:1 -e match:'not_file' \
		    ./file -f $f write p <in.x
		atf_check -s exit:1 -e match:'permission_denied' \
		    ./file -f $f write ro/f <in.x
		atf_check -s exit:1 -e match:'invalid_path' \
		    ./file -f $f write x <in.x
		atf_check -s exit:1 -e match:'not_directory' \
		    ./file -f $f write f/g <in.x
	done
	atf_check -s exit:1 -e match:'too_large' \
	    ./file -f 4 -l 2 write f <in.abc
	atf_check -o inline:'z' ./file read f
	atf_check -s exit:1 -e match:'not_file' ./file read p
	atf_check -s exit:1 -e match:'not_file' ./file read /dev/zero
	atf_check -s exit:1 -e match:'is_directory' ./file read d
	# Nothing is left beside them.
	atf_check -o empty ./run 'find . -name ".sandboxd*"'
	daemon_stop
}
write_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case stat
	atf_add_test_case bytes
	atf_add_test_case write
}
