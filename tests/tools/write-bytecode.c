/* write-bytecode MODEL.mlir FILE.mlirbc [CONTAINER VHLO]: a model as StableHLO's serializers write
 * it, by the tests' own writer. CONTAINER: the version of the format (6), VHLO: 100 times the major
 * version and the minor one (100, which is 1.0). Exit status: 0, 1 with a message, 2 usage. */
#include <stdio.h>
#include <stdlib.h>

#include "../unit/bytecode_write.h"
#include "base/file.h"
#include "parse/parse.h"

int main(int argc, char **argv)
{
    err_t err = {0};
    str_t bytes = {0};
    if (argc != 3 && argc != 5) {
        fputs("usage: write-bytecode MODEL.mlir FILE.mlirbc [CONTAINER VHLO]\n", stderr);
        return 2;
    }
    bytecode_write_t how = {.container = argc > 3 ? atoi(argv[3]) : 6,
                            .vhlo = argc > 3 ? atoi(argv[4]) : 100,
                            .mixed = true,
                            .name_args = true};
    ir_module_t *module = parse_stablehlo_file(argv[1], &err);
    int status = module ? 0 : -1;
    if (status == 0 && !bytecode_write(module, &how, &bytes))
        status = err_set(&err, ERR_UNSUPPORTED, "%s: VHLO has no words for it", argv[1]);
    if (status == 0) status = file_write_atomic(argv[2], bytes.at, bytes.n, &err);
    if (status < 0) fprintf(stderr, "write-bytecode: %s\n", err.text);
    ir_module_destroy(&module);
    str_fini(&bytes);
    return status < 0;
}
