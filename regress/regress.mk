# The fixed part of the makefile that run.sh makes for the test programs.
#
# A test is a file regress/AREA/t_*.c (atf-c) or regress/AREA/t_*.sh (atf-sh).
# A file regress/AREA/h_*.c is a program that the tests of its area use; it
# lies beside them, as does every other file of the folder.
#
# A file regress/AREA/p_*.c becomes a shared object p_*.so, to be preloaded.
#
# A C program is linked with what it needs of the daemon's objects and libsbx.a,
# atf-c and the libraries of the daemon.  What else it needs it names in its
# text, in a comment:
#
#	regress-objs: ../sandboxctl/parser.o	objects of another program
#	regress-srcs: fake.c			sources of its own folder
#
# and a test of either kind that must run alone says
#
#	regress-exclusive
#
# How they are started, and what they find in the environment: run.sh.

include ${TOP}/config.mk

TEST_CFLAGS =	${CFLAGS} -I${TOP}/sandboxd -I${TOP}/sandboxd/guest \
		-I${TOP}/sandboxctl -I${TOP}/regress/lib
TEST_LIBS =	${ATF_LIBS} ${EVENT_LIBS} ${MSGPACK_LIBS} ${DB_LIBS} \
		${CURL_LIBS} ${JANSSON_LIBS} ${ARCHIVE_LIBS} ${MD_LIBS} \
		${SECCOMP_LIBS} \
		${BSD_LIBS} -lutil -lpthread

# Nothing is checked in between: it stands in the place of the C library.
PRELOAD_CFLAGS = -std=gnu11 -g ${WARN} ${DEFS_${VARIANT}} ${PRELOAD_${VARIANT}} \
		-O1 -fPIC -shared -MMD -MP -D_GNU_SOURCE
PRELOAD_asan =	-DASAN
