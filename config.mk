# What every Makefile here reads.  GNU make and bmake both take this file, so
# there are no conditionals: a choice is made by a variable's name.
#
# VARIANT chooses the build:
#	(empty)	the programs as they are installed
#	fault	with fault points, for tests (in obj-fault/)
#	asan	with the address and undefined behaviour sanitizers, and the
#		fault points (in obj-asan/)

PREFIX ?=	/usr/local
BINDIR ?=	${PREFIX}/bin
SBINDIR ?=	${PREFIX}/sbin
LIBEXECDIR ?=	${PREFIX}/libexec
LIBDIR ?=	${PREFIX}/lib
INCLUDEDIR ?=	${PREFIX}/include/sandboxd
MANDIR ?=	${PREFIX}/share/man
DOCDIR ?=	${PREFIX}/share/doc/sandboxd
SYSCONFDIR ?=	/etc
DESTDIR ?=

CC =		gcc
AR =		ar
BISON =		bison
MUSL_CC =	musl-gcc
PKG_CONFIG =	pkg-config

VARIANT ?=

# A callback takes what its caller gives, used or not.
# With the sanitizers gcc sees ghosts in four of its warnings.
WARN =		-Wall -Wextra -Wno-unused-parameter -Wshadow \
		-Wstrict-prototypes -Werror
HARDEN =	-O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
		-fstack-clash-protection
HARDEN_fault =	${HARDEN}
HARDEN_asan =	-O1 -fno-omit-frame-pointer -fsanitize=address,undefined \
		-fno-sanitize-recover=undefined -DASAN \
		-Wno-format-truncation -Wno-maybe-uninitialized \
		-Wno-stringop-overflow -Wno-stringop-truncation
HARDEN_ =	${HARDEN}
DEFS_ =
DEFS_fault =	-DFAULTS
DEFS_asan =	-DFAULTS
LINK_ =
LINK_fault =
LINK_asan =	-fsanitize=address,undefined -Wl,-u,__asan_default_options

# tools/config.sh says which package is missing when one of these is empty.
PKG_CFLAGS !=	${PKG_CONFIG} --cflags libbsd-overlay libevent msgpack jansson \
		libmd libseccomp 2>/dev/null || :
BSD_LIBS !=	${PKG_CONFIG} --libs libbsd-overlay 2>/dev/null || :
EVENT_LIBS !=	${PKG_CONFIG} --libs libevent_core 2>/dev/null || :
MSGPACK_LIBS !=	${PKG_CONFIG} --libs msgpack 2>/dev/null || :
JANSSON_LIBS !=	${PKG_CONFIG} --libs jansson 2>/dev/null || :
SECCOMP_LIBS !=	${PKG_CONFIG} --libs libseccomp 2>/dev/null || :
MD_LIBS !=	${PKG_CONFIG} --libs libmd 2>/dev/null || :
CURL_LIBS !=	${PKG_CONFIG} --libs libcurl 2>/dev/null || :
ARCHIVE_LIBS !=	${PKG_CONFIG} --libs libarchive 2>/dev/null || :
ATF_LIBS !=	${PKG_CONFIG} --libs atf-c 2>/dev/null || :
DB_LIBS =	-ldb

CFLAGS =	-std=gnu11 -g ${WARN} ${HARDEN_${VARIANT}} ${DEFS_${VARIANT}} \
		-fPIE -MMD -MP -D_GNU_SOURCE -I. -I${TOP}/lib ${PKG_CFLAGS}
LDFLAGS =	${LINK_${VARIANT}} -pie -Wl,-z,relro,-z,now -Wl,--as-needed
LIBSBX =	${TOP}/lib/libsbx.a

# The guest: musl, static, and the kernel's headers after musl's own.
MULTIARCH !=	gcc -print-multiarch 2>/dev/null || :
GUEST_SAN_ =
GUEST_SAN_fault =
GUEST_SAN_asan = -fsanitize=undefined -fsanitize-undefined-trap-on-error
GUEST_CFLAGS =	-std=gnu11 ${WARN} -Os -fstack-protector-strong \
		${DEFS_${VARIANT}} ${GUEST_SAN_${VARIANT}} -MMD -MP -D_GNU_SOURCE \
		-I. -I${TOP}/lib -idirafter /usr/include/${MULTIARCH} \
		-idirafter /usr/include
GUEST_LDFLAGS =	-static -Wl,-z,relro,-z,now -Wl,--gc-sections -s

.SUFFIXES:
.SUFFIXES: .c .o
.c.o:
	${CC} ${CFLAGS} -c -o $@ $<
