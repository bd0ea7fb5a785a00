/* Leave to use the tile registers of AMX, which Linux gives to processes that ask. */
#ifndef RUNTIME_AMX_H
#define RUNTIME_AMX_H

#include "base/err.h"

/* For all threads of this process; asking again does nothing. Before code of a target whose caps_t
 * says amx runs. ERR_UNSUPPORTED: no such processor, or a kernel older than 5.16. */
int amx_enable(err_t *err);

#endif
