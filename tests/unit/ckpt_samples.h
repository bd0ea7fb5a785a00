/* What the tests of safetensors and checkpoints write, and the folder they write it to. */
#ifndef TESTS_CKPT_SAMPLES_H
#define TESTS_CKPT_SAMPLES_H

#include "ckpt/safetensors.h"
#include "temp.h"

static int set_up(void **state)
{
    *state = temp_dir();
    return 0;
}

static int tear_down(void **state)
{
    temp_remove((char **)state);
    return 0;
}

static const float weights[6] = {1, -2, 3, 0.5f, 0, 7};
static const int64_t steps[1] = {12};
static const safetensor_t tensors[] = {
    {"h.0.weight", DT_F32, 2, {2, 3}, weights, 24},
    {"step", DT_I64, 0, {0}, steps, 8},
    {"empty", DT_BF16, 2, {0, 5}, NULL, 0},
    {"bytes", DT_UI8, 1, {3}, "abc", 3},
};
enum { N_TENSORS = 4 };

#endif
