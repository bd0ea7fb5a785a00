/* Errors, the count of what objects hold, and the version. */
#include <stdlib.h>

#include "api/api.h"
#include "base/mem.h"
#include "base/version.h"

static atomic_size_t in_use;

void api_hold(size_t n_bytes)
{
    atomic_fetch_add(&in_use, n_bytes);
}

void api_let_go(size_t n_bytes)
{
    atomic_fetch_sub(&in_use, n_bytes);
}

size_t pcp_memory_in_use(void)
{
    return atomic_load(&in_use);
}

void *api_alloc(size_t size)
{
    api_hold(size);
    return mem_calloc(1, size);
}

void api_free(void *object, size_t size)
{
    free(object);
    api_let_go(size);
}

err_t *api_err(pcp_error_t *error)
{
    static _Thread_local err_t unwanted;
    err_t *err = error ? &error->err : &unwanted;
    err_clear(err);
    return err;
}

pcp_error_t *pcp_error_new(void)
{
    return api_alloc(sizeof(pcp_error_t));
}

void pcp_error_destroy(pcp_error_t **self_p)
{
    if (!self_p || !*self_p) return;
    api_free(*self_p, sizeof **self_p);
    *self_p = NULL;
}

/* Codes of the library below, which may change, as those that may not. */
pcp_code_t pcp_error_code(const pcp_error_t *self)
{
    switch (self->err.code) {
    case ERR_OK: return PCP_OK;
    case ERR_ARG: return PCP_ERROR_ARGUMENT;
    case ERR_PARSE: return PCP_ERROR_PARSE;
    case ERR_SHAPE: return PCP_ERROR_SHAPE;
    case ERR_TYPE: return PCP_ERROR_TYPE;
    case ERR_UNSUPPORTED: return PCP_ERROR_UNSUPPORTED;
    case ERR_NUMERIC: return PCP_ERROR_NUMERIC;
    case ERR_IO: return PCP_ERROR_IO;
    case ERR_CORRUPT: return PCP_ERROR_CORRUPT;
    case ERR_MEMORY: return PCP_ERROR_MEMORY;
    case ERR_MISMATCH: return PCP_ERROR_MISMATCH;
    case ERR_CRASH: /* of a plan's code in a process of its own: what was in its memory is lost, too */
    case ERR_DEVICE: return PCP_ERROR_DEVICE;
    case ERR_STATE:
    case ERR_NET:
    case ERR_FENCE:
    case ERR_SCHEMA: break; /* but for the first, none of this library's calls have them */
    }
    return PCP_ERROR_STATE;
}

const char *pcp_error_text(const pcp_error_t *self)
{
    return self->err.text;
}

void pcp_error_clear(pcp_error_t *self)
{
    err_clear(&self->err);
}

void pcp_free(void *memory)
{
    free(memory);
}

const char *pcp_version_text(void)
{
    return pcp_version;
}
