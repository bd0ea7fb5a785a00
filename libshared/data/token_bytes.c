/* The endings of names, and what they tell. */
#include "data/token_bytes.h"

static const struct {
    const char *ending;
    int bytes;
} forms[] = {{"u8", 1}, {"u16", 2}, {"u32", 4}};
enum { N_FORMS = sizeof forms / sizeof *forms, USUAL = 2 };

int token_bytes_named(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    for (int i = 0; dot && i < N_FORMS; i++)
        if (strcmp(dot + 1, forms[i].ending) == 0) return forms[i].bytes;
    return USUAL;
}

int token_bytes_for(uint64_t vocab)
{
    return vocab <= (uint64_t)UINT16_MAX + 1 ? USUAL : 4;
}

const char *token_bytes_ending(int bytes)
{
    for (int i = 0; i < N_FORMS; i++)
        if (forms[i].bytes == bytes) return forms[i].ending;
    return "u16";
}
