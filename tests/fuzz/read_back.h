/* What both readers of modules promise: valid IR, whose text reads back to the same. */
#ifndef FUZZ_READ_BACK_H
#define FUZZ_READ_BACK_H

#include "fuzz.h"
#include "ir/print.h"
#include "parse/parse.h"

/* Takes the module, which may be NULL: then `why` says it, and begins with `head`, the name of the file. */
static inline void read_back(ir_module_t *m, const err_t *why, const char *head)
{
    err_t err = {0};
    str_t first = {0}, second = {0};
    if (!m) {
        if (why->code == ERR_OK || !str_starts(why->text, head))
            broken("an error names the file", why->text);
        return;
    }
    if (ir_verify(m, &err) < 0) broken("only valid IR is built", err.text);
    ir_print_module(m, &first);
    ir_module_t *again = parse_stablehlo(str_text(&first), first.n, "printed", &err);
    if (!again) broken(str_text(&first), err.text);
    ir_print_module(again, &second);
    if (strcmp(str_text(&first), str_text(&second)) != 0)
        broken(str_text(&first), str_text(&second));
    ir_module_destroy(&m);
    ir_module_destroy(&again);
    str_fini(&first);
    str_fini(&second);
}

#endif
