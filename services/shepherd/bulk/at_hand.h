/* Inner states that workers of this machine keep in their --state-dir, which a checkpoint takes as they lie there: no
 * worker has to send them anywhere. Workers keep the last few of a replica, so a state is opened while it is sure to
 * be there, and may be gone by its name when it is written down. */
#ifndef SHEPHERD_AT_HAND_H
#define SHEPHERD_AT_HAND_H

#include <stdbool.h>

#include "ckpt/ledger.h"

enum { AT_HAND_STATES = 256 }; /* a ledger with more is not looked at: each takes a descriptor */

/* Open each state of the ledger that is in `dir` (NULL: none is), -1 for one that is not, or that has no name.
 * Returns ledger->n_state descriptors, caller closes and frees (at_hand_close). */
int *at_hand_open(const char *dir, const ledger_t *ledger);
void at_hand_close(int **fd, const ledger_t *ledger);

/* Every state of the ledger that has a name is there, and one has. */
bool at_hand_all(const char *dir, const ledger_t *ledger);

/* The open file under another name, `path`, or else a copy. ERR_IO. */
int at_hand_take(int fd, const char *path, err_t *err);

#endif
