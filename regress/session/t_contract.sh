# What agent frameworks ask of a sandbox: the cases of contract_cases.py in the
# built-in image and in one of Debian's programs with python3, as an ordinary
# user and as root.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# Of this host, since an archive of packages takes minutes: its shell, a few
# programs and python3, and what they are linked with.
debian()
{
	mkdir -p image/bin image/usr/lib image/lib image/usr/bin image/tmp \
	    image/etc image/root
	for p in awk cat chmod cmp cp cut env find grep head id ln ls mkdir mv \
	    python3 rm sed seq sh sleep stat tail touch tr wc; do
		f=$(readlink -f "$(PATH=/usr/bin:/bin command -v $p)") ||
		    atf_fail "$p"
		cp "$f" image/bin/$p
		ldd "$f" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p
		    s/^[[:space:]]*\(\/[^ ]*\).*/\1/p' >>libs
	done
	ln -s python3 image/bin/python
	sort -u libs | while read -r f; do
		mkdir -p "image/${f%/*}"
		cp -L "$f" "image/$f"
	done
	v=$(/usr/bin/python3 -I -c 'import os; print(os.__file__)')
	v=${v%/os.py}
	mkdir -p "image/$v"
	cp "$v"/*.py "image/$v"
	for p in collections encodings importlib json re lib-dynload; do
		[ ! -d "$v/$p" ] || cp -R "$v/$p" "image/$v/$p"
	done
	find image -name __pycache__ | xargs rm -rf
	tar -cf image.tar -C image .
	rm -rf image
}

# boxes [option ...]: one of each image, for the cases.
boxes()
{
	box "$@"
	_boxes=$BOX:busybox:$USER
	debian
	atf_check -o ignore "$CTL" image import "contract-$$" image.tar
	box -I "contract-$$" "$@"
	atf_check -o match:"cases in 2 sandboxes" \
	    /usr/bin/python3 -I -B "$(atf_get_srcdir)/contract.py" \
	    "$CTL" "$_boxes" "$BOX:python:$USER"
	daemon_stop
}

atf_test_case user cleanup
user_head()
{
	atf_set descr 'cases of the agent frameworks, as an ordinary user'
	atf_set timeout 600
}
user_body()
{
	world
	USER=user
	boxes
}
user_cleanup()
{
	daemon_cleanup
}

atf_test_case root cleanup
root_head()
{
	atf_set descr 'cases of the agent frameworks, as root'
	atf_set timeout 600
}
root_body()
{
	# What is asked of the Engine is judged, and root is never right there.
	RECORDED=$SBX_ENGINE
	world 'policy { user root }'
	USER=root
	boxes -u root
}
root_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case user
	atf_add_test_case root
}
