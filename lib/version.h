/* The version of all that is built here. */
#ifndef VERSION_H
#define VERSION_H

#define SANDBOXD_VERSION	"0.1.0"

#endif
