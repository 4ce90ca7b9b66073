# sandboxd.  GNU make and bmake both read this; see README for the targets.
TOP =		.
SUBDIRS =	lib sandboxd/guest sandboxd sandboxctl
PAGES =		man/*.[1-9]

all: config
	@for d in ${SUBDIRS}; do \
		(cd $$d && ${MAKE} VARIANT=${VARIANT} all) || exit 1; \
	done

include ${TOP}/config.mk

# An object that has the folder of an earlier PREFIX in it is made again.
config:
	@sh tools/config.sh
	@test "$$(cat .prefix 2>/dev/null)" = "${LIBEXECDIR}" || \
	    { rm -f sandboxctl/cmd_image.o; echo "${LIBEXECDIR}" >.prefix; }

# The same tree once more, by links, with its own objects and programs.
fault:
	@sh tools/variant.sh obj-fault
	@cd obj-fault && ${MAKE} VARIANT=fault all

asan-build:
	@sh tools/variant.sh obj-asan
	@cd obj-asan && ${MAKE} VARIANT=asan all

deps:
	@sh tools/deps.sh

users:
	@sh tools/users.sh

# All that the tests need, and the tests: TESTS="area area/prog area/prog:case".
check: deps
	@${MAKE} -j2 users all fault
	@sh regress/run.sh ${TESTS}

regress: all fault
	@sh regress/run.sh ${TESTS}

# The whole suite on programs with the sanitizers in them.
asan: deps
	@${MAKE} users asan-build
	@ASAN=yes sh regress/run.sh ${TESTS}

# The larger figures.
soak: deps
	@${MAKE} -j2 users all fault
	@SOAK=yes sh regress/run.sh ${TESTS}

# Each parser on any bytes, FUZZ_SECONDS each: TESTS="fuzz/t_fuzz:f_msg".
fuzz: deps
	@${MAKE} -j2 users all fault
	@t="${TESTS}"; FUZZ_SECONDS="$${FUZZ_SECONDS:-300}" \
	    sh regress/run.sh $${t:-fuzz}

demo:
	@MAKE="${MAKE}" sh tools/demo.sh

bench: deps
	@${MAKE} -j2 users all fault
	@RUN=regress/bench/bench.sh sh regress/run.sh bench

lint: config
	@sh tools/lint.sh

install: all users
	@DESTDIR="${DESTDIR}" BINDIR="${BINDIR}" SBINDIR="${SBINDIR}" \
	    LIBEXECDIR="${LIBEXECDIR}" MANDIR="${MANDIR}" DOCDIR="${DOCDIR}" \
	    LIBDIR="${LIBDIR}" INCLUDEDIR="${INCLUDEDIR}" \
	    SYSCONFDIR="${SYSCONFDIR}" sh tools/install.sh

uninstall:
	@DESTDIR="${DESTDIR}" BINDIR="${BINDIR}" SBINDIR="${SBINDIR}" \
	    LIBEXECDIR="${LIBEXECDIR}" MANDIR="${MANDIR}" DOCDIR="${DOCDIR}" \
	    LIBDIR="${LIBDIR}" INCLUDEDIR="${INCLUDEDIR}" \
	    SYSCONFDIR="${SYSCONFDIR}" sh tools/uninstall.sh

clean:
	@for d in ${SUBDIRS}; do (cd $$d && ${MAKE} clean) || exit 1; done
	rm -rf obj-fault obj-asan regress/obj regress/obj-asan .prefix

.PHONY: all config fault asan-build deps users check regress asan soak fuzz \
	demo bench lint install uninstall clean
