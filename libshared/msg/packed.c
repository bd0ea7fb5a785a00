/* One context each way, made when it is needed. */
#include "msg/packed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/mem.h"

struct packer {
    ZSTD_CCtx *packs;
    ZSTD_DCtx *unpacks;
};

packer_t *packer_new(void)
{
    return mem_calloc(1, sizeof(packer_t));
}

void packer_destroy(packer_t **self_p)
{
    packer_t *self = *self_p;
    if (!self) return;
    ZSTD_freeCCtx(self->packs);
    ZSTD_freeDCtx(self->unpacks);
    free(self);
    *self_p = NULL;
}

size_t packer_pack(packer_t *self, const void *bytes, size_t n, void *out)
{
    enum { FAST = 1, WORTH = 16 };
    if (!self->packs) self->packs = ZSTD_createCCtx();
    if (!self->packs) return 0;
    size_t got = ZSTD_compressCCtx(self->packs, out, n - n / WORTH, bytes, n, FAST);
    return ZSTD_isError(got) ? 0 : got; /* an error is, as a rule, that it does not fit */
}

/* One frame of the present format, and nothing behind it: the library would also open formats of before 2016, which it
 * builds in or not, skip what says that it is to be skipped, and go on with the next frame. */
static bool is_one_frame(const uint8_t *bytes, size_t n)
{
    const uint32_t magic = ZSTD_MAGICNUMBER;
    for (size_t i = 0; i < sizeof magic; i++)
        if (i >= n || bytes[i] != (uint8_t)(magic >> 8 * i)) return false;
    return ZSTD_findFrameCompressedSize(bytes, n) == n;
}

size_t packer_unpack_most(packer_t *self, const void *bytes, size_t n_bytes, void *out, size_t most,
                          err_t *err)
{
    if (!is_one_frame(bytes, n_bytes)) {
        err_set(err, ERR_CORRUPT, "packed payload of %zu bytes: not one frame of Zstandard, whole",
                n_bytes);
        return 0;
    }
    if (!self->unpacks) self->unpacks = ZSTD_createDCtx();
    if (!self->unpacks) {
        err_set(err, ERR_CORRUPT, "packed payload: libzstd has no memory");
        return 0;
    }
    size_t got = ZSTD_decompressDCtx(self->unpacks, out, most, bytes, n_bytes);
    if (!ZSTD_isError(got) && got > 0) return got;
    err_set(err, ERR_CORRUPT, "packed payload of %zu bytes: %s", n_bytes,
            got ? ZSTD_getErrorName(got) : "it is empty");
    return 0;
}

int packer_unpack(packer_t *self, const void *bytes, size_t n_bytes, void *out, size_t n,
                  err_t *err)
{
    size_t got = packer_unpack_most(self, bytes, n_bytes, out, n, err);
    if (got == 0) return -1;
    if (got == n) return 0;
    return err_set(err, ERR_CORRUPT, "packed payload: %zu bytes instead of %zu", got, n);
}
