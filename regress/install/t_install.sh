# What "make install" puts where, and that "make uninstall" takes it away.

# A tree of its own, so that nothing is built or linked anew under the feet of
# other tests: the folder of the run's programs stands for the build.
tree()
{
	mkdir -p t/sandboxd/guest t/sandboxctl
	cp -R "$SBX_TOP/tools" "$SBX_TOP/etc" "$SBX_TOP/man" \
	    "$SBX_TOP/README" "$SBX_TOP/CHANGES" t/
	cp "$SBX_BIN/sandboxd" t/sandboxd/
	cp "$SBX_BIN/sandboxctl" t/sandboxctl/
	cp "$SBX_BIN/sandbox-guest" t/sandboxd/guest/
	[ ! -f "$SBX_BIN/sandboxctl-tar" ] ||
	    cp "$SBX_BIN/sandboxctl-tar" t/sandboxctl/
	mkdir t/lib
	cp "$SBX_TOP"/lib/*.h t/lib/
	if [ "${ASAN:-no}" = yes ]; then
		cp "$SBX_TOP/obj-asan/lib/libsbx.a" t/lib/
	else
		cp "$SBX_TOP/lib/libsbx.a" t/lib/
	fi
	R=$PWD/root
	export DESTDIR="$R" PREFIX=/opt/sbx BINDIR=/opt/sbx/bin \
	    SBINDIR=/opt/sbx/sbin LIBEXECDIR=/opt/sbx/libexec \
	    LIBDIR=/opt/sbx/lib INCLUDEDIR=/opt/sbx/include/sandboxd \
	    MANDIR=/opt/sbx/man DOCDIR=/opt/sbx/doc SYSCONFDIR=/etc
}

atf_test_case folders
folders_head()
{
	atf_set descr "the programs, pages and examples, and all of them go"
}
folders_body()
{
	tree
	umask 077
	atf_check sh t/tools/install.sh
	for f in sbin/sandboxd bin/sandboxctl libexec/sandbox-guest; do
		atf_check_equal "$(stat -c %a "$R/opt/sbx/$f")" 755
	done
	for p in "$SBX_TOP"/man/*.[1-9]; do
		f=man/man${p##*.}/$(basename "$p")
		atf_check cmp "$p" "$R/opt/sbx/$f"
		atf_check_equal "$(stat -c %a "$R/opt/sbx/$f")" 644
	done
	for f in rc.d/sandboxd init.d/sandboxd; do
		atf_check_equal \
		    "$(stat -c %a "$R/opt/sbx/doc/examples/$f")" 755
		atf_check sh -n "$R/opt/sbx/doc/examples/$f"
	done
	atf_check -o ignore grep "^ExecStart=/opt/sbx/sbin/sandboxd -d" \
	    "$R/opt/sbx/doc/examples/systemd/sandboxd.service"
	# With one of these the parent would not share the Engine's mounts.
	atf_check -s exit:1 grep -E "^(Private|Protect|ReadWrite|ReadOnly)" \
	    "$R/opt/sbx/doc/examples/systemd/sandboxd.service"
	atf_check -s exit:1 -o empty grep -rnI "@[A-Z]*DIR@" "$R"
	atf_check -s exit:64 -o ignore -e match:usage \
	    "$R/opt/sbx/bin/sandboxctl"

	atf_check sh t/tools/uninstall.sh
	atf_check -o empty find "$R" -type f
}

atf_test_case configuration
configuration_head()
{
	atf_set descr "the example is installed once and can be read"
}
configuration_body()
{
	tree
	atf_check sh t/tools/install.sh
	# Its guest lies where it will, not where it is: without DESTDIR.
	sed "s|/opt/sbx/libexec|$R&|" "$R/etc/sandboxd.conf" >conf
	chmod 600 conf
	atf_check -e match:"configuration OK" "$R/opt/sbx/sbin/sandboxd" \
	    -n -f conf
	echo "# mine" >>"$R/etc/sandboxd.conf"
	atf_check sh t/tools/install.sh
	atf_check -o match:"# mine" tail -n 1 "$R/etc/sandboxd.conf"
	atf_check sh t/tools/uninstall.sh
	atf_check -o match:"# mine" tail -n 1 "$R/etc/sandboxd.conf"
}

atf_test_case library
library_head()
{
	atf_set descr "a program of somebody else's links the library"
}
library_body()
{
	[ "${ASAN:-no}" = yes ] && return 0
	tree
	atf_check sh t/tools/install.sh
	cat >prog.c <<-\EOT
	#include <stdio.h>
	#include <libsandbox.h>

	int
	main(void)
	{
		struct sandbox_error	 e;

		if (sandbox_open("./none", "prog", &e) != NULL)
			return (1);
		printf("%s\n", code_name(e.code));
		return (0);
	}
	EOT
	atf_check cc -Wall -Werror -I"$R/opt/sbx/include/sandboxd" -o prog \
	    prog.c -L"$R/opt/sbx/lib" -lsandbox \
	    $(pkg-config --libs msgpack libbsd)
	atf_check -o inline:"unavailable\n" ./prog
}

atf_test_case faults
faults_head()
{
	atf_set descr "the installed programs have no fault points in them"
}
faults_body()
{
	atf_check -o ignore grep -c SANDBOXD_FAULT "$SBX_FAULTBIN/sandboxd"
	[ "${ASAN:-no}${POOR:-no}" != nono ] || atf_check -s exit:1 -o ignore \
	    grep -c SANDBOXD_FAULT "$SBX_BIN/sandboxd"
}

atf_init_test_cases()
{
	atf_add_test_case folders
	atf_add_test_case configuration
	atf_add_test_case library
	atf_add_test_case faults
}
