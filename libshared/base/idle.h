/* Memory that nothing is in: what the C library keeps of what it was given back, in pieces between what lives. A process
 * that took much for a while would hold it for ever. One thread. */
#ifndef BASE_IDLE_H
#define BASE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t least; /* bytes that could not be given back so far; 0: not known */
} idle_t;

/* Give back what is idle, if that is more than a sixteenth and 4 MiB beyond what it was when there was least. `resident`: bytes
 * of this process in memory, code and files with them. True: it was tried. */
bool idle_give_back(idle_t *self, uint64_t (*resident)(void *user), void *user);

#endif
