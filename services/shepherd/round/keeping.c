/* Where inner states are kept between two leases. */
#include <string.h>

#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

Msg__StateKeep work_keep_state(const shepherd_t *self)
{
    const char *word = self->config->keep_state;
    bool others = self->config->audit > 0; /* they begin with it, too */
    if (strcmp(word, "object") == 0 || others || checkpoint_wants_objects(self))
        return MSG__STATE_KEEP__STATE_OBJECT;
    return strcmp(word, "local") == 0 ? MSG__STATE_KEEP__STATE_LOCAL
                                      : MSG__STATE_KEEP__STATE_MEMORY;
}
