/* The same file system as a client's: a guest is no better. */

#include "../frontend/fusefs.c"
