/* Files of tokens: little-endian numbers of 1, 2 or 4 bytes each, which the ending of a file's name tells
 * (.u8, .u16, .u32). Pure. */
#ifndef DATA_TOKEN_BYTES_H
#define DATA_TOKEN_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Tokens are below it, for four bytes have a bit to spare: with it set a token is there to be read, and its
 * own prediction does not count (a question, beside its answer). */
#define TOKEN_LIMIT ((uint32_t)1 << 31)
#define TOKEN_SILENT TOKEN_LIMIT

/* By the name; 2: it has another ending, or there is none (NULL). */
int token_bytes_named(const char *path);
/* What tokens below `vocab` take in files that runs are made with: 2 or 4. */
int token_bytes_for(uint64_t vocab);
/* "u8", "u16", "u32" */
const char *token_bytes_ending(int bytes);

/* The i-th token at `tokens`. The host is little-endian. */
static inline uint32_t token_at(const void *tokens, size_t i, int bytes)
{
    const char *at = (const char *)tokens + i * (size_t)bytes;
    uint16_t two;
    uint32_t four;
    if (bytes == 1) return *(const uint8_t *)at;
    if (bytes == 2) {
        memcpy(&two, at, sizeof two);
        return two;
    }
    memcpy(&four, at, sizeof four);
    return four;
}

#endif
