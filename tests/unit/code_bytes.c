/* Blocks of memory are as long as what is read, so that valgrind and asan see a byte too much. */
#include "code_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"

static uint32_t *copy(const uint32_t *good, size_t n_byte)
{
    uint32_t *bytes = mem_calloc(1, n_byte ? n_byte : 1);
    memcpy(bytes, good, n_byte);
    return bytes;
}

void code_cut_short(code_load_fn *load, const uint32_t *good, size_t n)
{
    for (size_t n_byte = 0; n_byte < n * sizeof *good; n_byte++) {
        err_t err = {0};
        uint32_t *bytes = copy(good, n_byte);
        assert_int_equal(load(bytes, n_byte, &err), -1);
        assert_int_equal(err.code, ERR_CORRUPT);
        free(bytes);
    }
}

void code_wrong_words(code_load_fn *load, const uint32_t *good, size_t n, const code_case_t *cases,
                      size_t n_case)
{
    for (size_t i = 0; i < n_case; i++) {
        err_t err = {0};
        uint32_t *word = copy(good, n * sizeof *good);
        word[cases[i].at] = cases[i].word;
        if (load(word, n * sizeof *good, &err) == 0) fail_msg("%zu: %s", i, cases[i].says);
        assert_int_equal(err.code, ERR_CORRUPT);
        if (!strstr(err.text, cases[i].says)) fail_msg("%zu: %s", i, err.text);
        free(word);
    }
}

void code_turned_bits(code_load_fn *load, const uint32_t *good, size_t n)
{
    for (uint64_t i = 0; i < 20000; i++) {
        uint32_t *word = copy(good, n * sizeof *good);
        for (uint64_t k = 0; k < 1 + i % 3; k++)
            word[rng_bits(i, 2 * k) % n] ^= 1u << rng_bits(i, 2 * k + 1) % 32;
        load(word, n * sizeof *good, NULL);
        free(word);
    }
}
