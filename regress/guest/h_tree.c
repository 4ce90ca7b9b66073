/*
 * Trees that are hard to end.
 *
 *	h_tree bomb		forks for ever, and each of its children too
 *	h_tree sessions		the same, each in a session of its own
 *	h_tree tree n		n processes, each detached in its own way, all
 *				deaf to TERM; says "ready" when they are there
 *	h_tree threads		a child of a thread that is not the first
 *	h_tree flight		sends descriptors that nobody takes, until its
 *				user may have no more under way; says "ready"
 */

#include <sys/resource.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "passfd.h"

static void
bomb(int apart)
{
	signal(SIGTERM, SIG_IGN);
	/* The bound is the caller's RLIMIT_NPROC. */
	for (;;)
		switch (fork()) {
		case -1:
			usleep(1000);
			break;
		case 0:
			if (apart)
				setsid();
		}
}

static void
leaf(int i)
{
	pid_t	 pid;

	if (i % 2 == 0)
		setsid();
	/* Its parent ends: whoever is next above it has it now. */
	if (i % 3 != 0) {
		if ((pid = fork()) == -1)
			err(1, "fork");
		if (pid != 0)
			_exit(0);
		if (i % 3 == 1)
			setsid();
	}
	for (;;)
		pause();
}

static void
tree(int n)
{
	int	 i;

	signal(SIGTERM, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	for (i = 0; i < n; i++)
		switch (fork()) {
		case -1:
			err(1, "fork");
		case 0:
			leaf(i);
		}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static void *
thread(void *arg)
{
	if (fork() == 0)
		for (;;)
			pause();
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
	return (arg);
}

static void
flight(void)
{
	struct rlimit	 rl;
	int		 sv[2], i;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		err(1, "getrlimit");
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		err(1, "setrlimit");
	do {
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sv) == -1)
			err(1, "socketpair");
		for (i = 0; i < 5; i++)
			if (passfd_send(sv[0], "", 1, STDOUT_FILENO, 200,
			    MSG_DONTWAIT) == -1)
				break;
	} while (i == 5);
	if (errno != ETOOMANYREFS)
		err(1, "sendmsg");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int
main(int argc, char *argv[])
{
	pthread_t	 t;

	if (argc == 2 && strcmp(argv[1], "bomb") == 0)
		bomb(0);
	if (argc == 2 && strcmp(argv[1], "sessions") == 0)
		bomb(1);
	if (argc == 3 && strcmp(argv[1], "tree") == 0)
		tree(atoi(argv[2]));
	if (argc == 2 && strcmp(argv[1], "threads") == 0 &&
	    pthread_create(&t, NULL, thread, NULL) == 0)
		for (;;)
			pause();
	if (argc == 2 && strcmp(argv[1], "flight") == 0)
		flight();
	return (1);
}
