/* Fuzz target: what the parser accepts is valid IR, and its text reads back to the same. */
#include "alloc_bound.h"
#include "read_back.h"

enum { PARSE_MULTIPLE = 128, PARSE_CONSTANT = 128 << 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err_t err = {0};
    alloc_bound_begin("parse", PARSE_MULTIPLE, n, PARSE_CONSTANT);
    ir_module_t *m = parse_stablehlo((const char *)data, n, "fuzz", &err);
    alloc_bound_end();
    read_back(m, &err, "fuzz:");
    return 0;
}
