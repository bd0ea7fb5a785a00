/* Names of ops in MHLO, the dialect that StableHLO came from: what exporters wrote before, and
 * compilers still do, is the op of the same stem in StableHLO, or in CHLO. */
#include <stdio.h>
#include <string.h>

#include "parse/parser.h"

static bool is_known(token_t name)
{
    return op_by_name(name.at, name.n) != OP_invalid || parse_text_op(name) || parse_refusal(name);
}

token_t parse_op_alias(parser_t *p, token_t name)
{
    static const char *const dialects[] = {"stablehlo.", "chlo."};
    static const char head[] = "mhlo.";
    const size_t n_head = sizeof head - 1;
    char text[80];
    if (name.n <= n_head || memcmp(name.at, head, n_head) != 0 || is_known(name)) return name;
    const char *stem = name.at + n_head;
    int n_stem = (int)(name.n - n_head);
    for (size_t i = 0; n_stem < 48 && i < sizeof dialects / sizeof *dialects; i++) {
        int n = snprintf(text, sizeof text, "%s%.*s", dialects[i],
                         n_stem == 4 && memcmp(stem, "topk", 4) == 0 ? 5 : n_stem,
                         n_stem == 4 && memcmp(stem, "topk", 4) == 0 ? "top_k" : stem);
        token_t known = {name.kind, text, (size_t)n};
        if (!is_known(known)) continue;
        known.at = arena_strndup(p->arena, text, (size_t)n);
        return known;
    }
    return name;
}
