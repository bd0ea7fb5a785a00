/* Fuzz target: what is read of MLIR bytecode is valid IR, whose text reads back to the same. */
#include <stdlib.h>

#include "parse/bytecode.h"

#include "alloc_bound.h"
#include "read_back.h"

enum { BYTECODE_MULTIPLE = 1024, BYTECODE_CONSTANT = 4 << 20 };

/* The text alone is bounded by the bytes: a type stands in the file once, in the text often. */
static void check_text(const uint8_t *data, size_t n)
{
    err_t err = {0};
    str_t text;
    blob_t *blob;
    size_t n_blob;
    alloc_bound_begin("bytecode", BYTECODE_MULTIPLE, n, BYTECODE_CONSTANT);
    int status = bytecode_text(data, n, "fuzz", &text, &blob, &n_blob, &err);
    alloc_bound_end();
    if (status < 0) {
        if (err.code == ERR_OK || !str_starts(err.text, "fuzz:"))
            broken("an error names the file", err.text);
        return;
    }
    for (size_t i = 0; i < n_blob; i++)
        if (blob[i].at < data || blob[i].at + blob[i].n > data + n)
            broken("blobs lie in the file", "");
    free(blob);
    str_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err_t err = {0};
    if (!parse_is_bytecode((const char *)data, n)) return 0;
    check_text(data, n);
    read_back(parse_stablehlo((const char *)data, n, "fuzz", &err), &err, "fuzz");
    return 0;
}
