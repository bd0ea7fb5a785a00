/* Text that MLIR bytecode becomes: strings with escapes, and bounds on depth and size. */
#include <string.h>

#include "parse/bytecode.h"

int bytecode_room(bytecode_t *b)
{
    if (b->out.n <= b->max_text) return 0;
    return err_set(
        b->err, ERR_MEMORY,
        "%s: MLIR bytecode whose text would have more than %zu bytes: its attributes and "
        "types are used in each other too often",
        b->file, b->max_text);
}

int bytecode_enter(bytecode_t *b)
{
    if (b->depth < BYTECODE_MAX_DEPTH) {
        b->depth++;
        return 0;
    }
    return err_set(b->err, ERR_CORRUPT, "%s: MLIR bytecode, nested deeper than %d levels", b->file,
                   BYTECODE_MAX_DEPTH);
}

void bytecode_quoted(str_t *out, span_t text)
{
    static const char digits[] = "0123456789ABCDEF";
    str_add(out, "\"");
    for (size_t i = 0, from = 0; i <= text.n; i++) {
        unsigned char c = i < text.n ? (unsigned char)text.at[i] : 0;
        bool plain = i < text.n && c >= ' ' && c != '"' && c != '\\' && c != 0x7F;
        if (plain) continue;
        str_addn(out, text.at + from, i - from);
        from = i + 1;
        const char escaped[] = {'\\', digits[c >> 4], digits[c & 15]};
        if (i < text.n) str_addn(out, escaped, sizeof escaped);
    }
    str_add(out, "\"");
}
