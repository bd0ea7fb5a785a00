/* Tokenizers, with tokens as tensors. */
#include <stdlib.h>
#include <string.h>

#include "api/text.h"
#include "base/mem.h"

static pcp_tokenizer_t *tokenizer_of(tokenizer_t *inner)
{
    if (!inner) return NULL;
    pcp_tokenizer_t *self = api_alloc(sizeof *self);
    self->inner = inner;
    return self;
}

pcp_tokenizer_t *pcp_tokenizer_new(const char *kind, const char *text, size_t n, pcp_error_t *error)
{
    err_t *err = api_err(error);
    if (strcmp(kind, "byte") != 0 && strcmp(kind, "char") != 0) {
        err_set(err, ERR_ARG, "no tokenizer is called \"%s\"; there are: byte, char", kind);
        return NULL;
    }
    return tokenizer_of(tokenizer_new(kind, text, n, err));
}

pcp_tokenizer_t *pcp_tokenizer_open(const char *path, pcp_error_t *error)
{
    return tokenizer_of(tokenizer_open(path, api_err(error)));
}

void pcp_tokenizer_destroy(pcp_tokenizer_t **self_p)
{
    if (!self_p || !*self_p) return;
    tokenizer_destroy(&(*self_p)->inner);
    api_free(*self_p, sizeof **self_p);
    *self_p = NULL;
}

int64_t pcp_tokenizer_vocab(const pcp_tokenizer_t *self)
{
    return tokenizer_vocab(self->inner);
}

pcp_tensor_t *pcp_tokenizer_encode(const pcp_tokenizer_t *self, const char *text, size_t n,
                                   pcp_error_t *error)
{
    size_t n_token = 0;
    uint32_t *tokens = tokenizer_encode(self->inner, text, n, &n_token, api_err(error));
    if (!tokens) return NULL;
    pcp_type_t type = pcp_type(PCP_I32, 1, (int64_t[]){(int64_t)n_token});
    pcp_tensor_t *out = pcp_tensor_from(&type, tokens, n_token * sizeof *tokens, error);
    free(tokens);
    return out;
}

char *pcp_tokenizer_decode(const pcp_tokenizer_t *self, const pcp_tensor_t *tokens,
                           pcp_error_t *error)
{
    err_t *err = api_err(error);
    char text[IR_TYPE_TEXT];
    str_t out = {0};
    if (tokens->value.type.dtype != DT_I32) {
        err_set(err, ERR_TYPE, "tokens are of i32, got %s",
                ir_type_text(&tokens->value.type, text));
        return NULL;
    }
    tokenizer_decode_text(self->inner, tokens->value.data,
                          (size_t)ir_type_count(&tokens->value.type), &out);
    return out.at ? out.at : mem_calloc(1, 1);
}
