/* The header of llm.c's token files. */
#include "data/token_shard.h"

#include <string.h>

static const struct {
    int32_t magic, version;
    int token_bytes;
} forms[] = {{20240520, 1, 2}, {20240801, 7, 4}};
enum { FORMS = sizeof forms / sizeof *forms };

/* The host is little-endian. */
static int32_t word(const void *bytes, int i)
{
    int32_t value;
    memcpy(&value, (const char *)bytes + 4 * i, sizeof value);
    return value;
}

static int find(const void *bytes, size_t n)
{
    for (int i = 0; n >= 4 && i < FORMS; i++)
        if (word(bytes, 0) == forms[i].magic) return i;
    return -1;
}

bool token_shard_is(const void *bytes, size_t n)
{
    return find(bytes, n) >= 0;
}

int token_shard_read(const void *bytes, size_t n, token_shard_t *out, err_t *err)
{
    int i = find(bytes, n);
    if (i < 0)
        return err_set(err, ERR_PARSE, "it does not begin as a token shard (%d or %d)",
                       forms[0].magic, forms[1].magic);
    if (n < TOKEN_SHARD_HEADER)
        return err_set(
            err, ERR_CORRUPT,
            "%zu bytes are less than a token shard's header of %d: it was cut off, fetch it again",
            n, TOKEN_SHARD_HEADER);
    if (word(bytes, 1) != forms[i].version)
        return err_set(err, ERR_PARSE, "a token shard of version %d: %d is known", word(bytes, 1),
                       forms[i].version);
    if (word(bytes, 2) < 0)
        return err_set(err, ERR_PARSE, "a token shard of %d tokens", word(bytes, 2));
    *out = (token_shard_t){forms[i].token_bytes, (uint64_t)word(bytes, 2)};
    return 0;
}
