/* What a person sees while nobody answers. */
#include <stdio.h>

#include "pcp/cmd.h"

void cmd_unreachable(void *state, const char *text)
{
    (void)state;
    fprintf(stderr, "pcp: %s; still trying\n", text);
}
