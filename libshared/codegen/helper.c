/* Helpers by text; their names are hashes of it, so that equal sources have equal names. */
#include "codegen/helper.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void helpers_fini(helpers_t *self)
{
    for (size_t i = 0; i < self->helper.n; i++) {
        free(self->helper.at[i].name);
        free(self->helper.at[i].text);
    }
    VEC_FREE(&self->helper);
}

const char *helpers_add(helpers_t *self, const char *stem, const char *text)
{
    for (size_t i = 0; i < self->helper.n; i++)
        if (strcmp(self->helper.at[i].text, text) == 0) return self->helper.at[i].name;
    char *name = mem_printf("%s_%016" PRIx64, stem, hash_fast(text, strlen(text)));
    VEC_PUSH(&self->helper, ((helper_t){name, mem_strdup(text)}));
    return name;
}

void helpers_print(const helpers_t *self, str_t *out)
{
    for (size_t i = 0; i < self->helper.n; i++)
        str_addf(out, "static __attribute__((noinline)) void %s%s\n", self->helper.at[i].name,
                 self->helper.at[i].text);
}
