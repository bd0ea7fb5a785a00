/* The one version number of all programs: the file VERSION. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

extern const char pcp_version[]; /* "0.1.0" */

#endif
