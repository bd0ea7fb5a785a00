/* Fuzz target: what the parser accepts is valid IR, and its text reads back to the same. */
#include "ir/print.h"
#include "parse/parse.h"

#include "alloc_bound.h"

enum { PARSE_MULTIPLE = 128, PARSE_CONSTANT = 128 << 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err_t err = {0};
    str_t first = {0}, second = {0};
    alloc_bound_begin("parse", PARSE_MULTIPLE, n, PARSE_CONSTANT);
    ir_module_t *m = parse_stablehlo((const char *)data, n, "fuzz", &err);
    alloc_bound_end();
    if (!m) {
        if (err.code == ERR_OK || !str_starts(err.text, "fuzz:"))
            broken("an error names the file", err.text);
        return 0;
    }
    if (ir_verify(m, &err) < 0) broken("the parser only builds valid IR", err.text);
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
    return 0;
}
