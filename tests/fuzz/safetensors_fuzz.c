/* Fuzz target: what safetensors_open accepts lies inside the file, and sizes fit shapes. */
#include "ckpt/safetensors.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[32];
    err_t err = {0};
    int fd = fuzz_file(data, n, path);
    safetensors_t *file = safetensors_open(path, &err);
    if (!file && err.code == ERR_OK) broken("an error says so", "");
    uint64_t sum = 0, total = 0;
    for (size_t i = 0; file && i < safetensors_count(file); i++) {
        const safetensor_t *t = safetensors_at(file, i);
        size_t want = dtype_bytes(t->dtype);
        for (int d = 0; d < t->rank; d++)
            if (__builtin_mul_overflow(want, (size_t)t->dims[d], &want)) broken("size", t->name);
        if (want != t->n_bytes) broken("the size is the shape's", t->name);
        if (safetensors_find(file, t->name) != t) broken("found by its name", t->name);
        for (size_t k = 0; k < t->n_bytes; k++) sum += ((const uint8_t *)t->data)[k];
        total += t->n_bytes;
    }
    if (total > n || sum > 255 * total) broken("tensors cover the file once", "");
    safetensors_close(&file);
    close(fd);
    return 0;
}
