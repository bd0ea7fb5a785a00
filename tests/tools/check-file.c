/* check-file FILE: run the checks of a StableHLO test file. Exit status 0: every check holds, 1: one does
 * not, 2: the file cannot be read, parsed or run. */
#include <stdio.h>

#include "ops/check.h"
#include "parse/parse.h"

int main(int argc, char **argv)
{
    err_t err = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: check-file FILE\n");
        return 2;
    }
    ir_module_t *module = parse_stablehlo_file(argv[1], &err);
    int rc = module ? check_module(module, &err) : -1;
    if (rc != 0) fprintf(stderr, "%s\n", err.text);
    ir_module_destroy(&module);
    return rc < 0 ? 2 : rc;
}
