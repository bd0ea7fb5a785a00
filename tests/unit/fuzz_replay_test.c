/* Replays the seeds of every fuzz target but the parser's (parse_fuzz_test): each input, and what
 * single damaged bytes and cuts make of it. The targets assert the promises (tests/fuzz). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "corpus.h"

#define LLVMFuzzerTestOneInput plan_input
#include "../fuzz/plan_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput check_input
#include "../fuzz/check_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput bytecode_input
#include "../fuzz/bytecode_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput safetensors_input
#include "../fuzz/safetensors_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput control_input
#include "../fuzz/control_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput wire_input
#include "../fuzz/wire_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput config_input
#include "../fuzz/config_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput tokenizer_input
#include "../fuzz/tokenizer_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput family_input
#include "../fuzz/family_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput keys_input
#include "../fuzz/keys_fuzz.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput records_input
#include "../fuzz/records_fuzz.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput requests_input
#include "../fuzz/requests_fuzz.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput jinja_input
#include "../fuzz/jinja_fuzz.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput packed_input
#include "../fuzz/packed_fuzz.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput trail_input
#include "../fuzz/trail_fuzz.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput files_input
#include "../fuzz/files_fuzz.c"
#undef LLVMFuzzerTestOneInput

enum { DAMAGES = 100 };

typedef int input_fn(const uint8_t *data, size_t n);

/* corpus_each takes no user pointer: one function per target. */
static void with_damage(input_fn *run, const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n + 1);
    run(data, n);
    for (uint64_t i = 0; i < DAMAGES && n > 0; i++) {
        uint64_t r = rng_bits(11, i);
        memcpy(copy, data, n);
        copy[r % n] = (uint8_t)(i % 4 == 0 ? 0xFF : r >> 32);
        run(copy, i % 8 == 1 ? (size_t)(r >> 40) % n : n);
    }
    free(copy);
}

#define REPLAY(name)                                                     \
    static int name##_damaged(const uint8_t *data, size_t n)             \
    {                                                                    \
        with_damage(name##_input, data, n);                              \
        return 0;                                                        \
    }                                                                    \
    static void test_##name(void **state)                                \
    {                                                                    \
        (void)state;                                                     \
        int n = corpus_each("tests/fuzz/corpus/" #name, name##_damaged); \
        print_message("%d inputs, each %d times\n", n, DAMAGES + 1);     \
        assert_true(n > 0);                                              \
    }
REPLAY(plan)
REPLAY(check)
REPLAY(safetensors)
REPLAY(control)
REPLAY(wire)
REPLAY(config)
REPLAY(tokenizer)
REPLAY(keys)
REPLAY(family)
REPLAY(records)
REPLAY(requests)
REPLAY(bytecode)
REPLAY(jinja)
REPLAY(packed)
REPLAY(trail)
REPLAY(files)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),        cmocka_unit_test(test_check),
        cmocka_unit_test(test_safetensors), cmocka_unit_test(test_control),
        cmocka_unit_test(test_wire),        cmocka_unit_test(test_config),
        cmocka_unit_test(test_tokenizer),   cmocka_unit_test(test_keys),
        cmocka_unit_test(test_family),      cmocka_unit_test(test_records),
        cmocka_unit_test(test_requests),    cmocka_unit_test(test_bytecode),
        cmocka_unit_test(test_jinja),       cmocka_unit_test(test_packed),
        cmocka_unit_test(test_trail),       cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests_name("fuzz_replay", tests, NULL, NULL);
}
