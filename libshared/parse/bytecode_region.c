/* Regions of MLIR bytecode: blocks' headers, and values by their numbers. The values of a region
 * have the numbers behind those of the regions around it, up to one that is isolated, where they
 * begin at 0 again. */
#include <inttypes.h>

#include "parse/bytecode.h"

enum { WITH_USE_LISTS = 3, WITHOUT_UNKNOWN_PLACES = 4 };

void value_name(const value_t *value, str_t *out)
{
    str_addf(out, value->is_arg ? "%%arg%" PRIu64 : "%%%" PRIu64, value->number);
    if (value->is_one_of) str_addf(out, "#%" PRIu32, value->index);
}

static int read_arg(bytecode_t *b, bytes_t *in, block_arg_t *arg)
{
    *arg = (block_arg_t){.has_location = true};
    const uint8_t *at = in->at;
    int rc = b->version < WITHOUT_UNKNOWN_PLACES
                 ? bytes_varint(b, in, &arg->type)
                 : bytes_flagged(b, in, &arg->type, &arg->has_location);
    if (rc < 0) return -1;
    if (arg->type >= b->type.n)
        return bytecode_fail(b, at, ERR_CORRUPT, "an argument's type is none");
    if (!arg->has_location) return 0;
    return bytes_index(b, in, b->attr.n, "attribute", &arg->location);
}

/* The order of uses says nothing here. */
int region_skip_uses(bytecode_t *b, bytes_t *in, uint64_t n_value)
{
    uint64_t n_list = 1, value, n, index;
    bool pairs;
    if (n_value > 1 && bytes_count(b, in, &n_list) < 0) return -1;
    for (uint64_t i = 0; i < n_list; i++) {
        if (n_value > 1 && bytes_varint(b, in, &value) < 0) return -1;
        if (bytes_flagged(b, in, &n, &pairs) < 0) return -1;
        for (uint64_t k = 0; k < n; k++)
            if (bytes_varint(b, in, &index) < 0) return -1;
    }
    return 0;
}

static int read_block(bytecode_t *b, bytes_t *in, region_t *self)
{
    bool has_args;
    uint64_t n;
    uint8_t has_lists = 0;
    if (bytes_flagged(b, in, &self->n_op, &has_args) < 0) return -1;
    if (!has_args) return 0;
    if (bytes_count(b, in, &n) < 0) return -1;
    for (uint64_t i = 0; i < n; i++) {
        block_arg_t arg;
        if (read_arg(b, in, &arg) < 0) return -1;
        VEC_PUSH(&self->arg, arg);
    }
    if (b->version < WITH_USE_LISTS) return 0;
    if (bytes_byte(b, in, &has_lists) < 0) return -1;
    return has_lists ? region_skip_uses(b, in, n) : 0;
}

int region_begin(bytecode_t *b, bytes_t *in, bool isolated, region_t *self)
{
    uint64_t n_value;
    const uint8_t *at = in->at;
    *self = (region_t){.scope = b->scope, .first = b->value.n};
    if (bytecode_enter(b) < 0) return -1;
    if (bytes_varint(b, in, &self->n_block) < 0) return -1;
    if (self->n_block == 0) return 0;
    if (self->n_block > 1)
        return bytecode_fail(b, at, ERR_UNSUPPORTED, "regions of more than one block");
    if (bytes_count(b, in, &n_value) < 0) return -1;
    for (uint64_t i = 0; i < n_value; i++) VEC_PUSH(&b->value, (value_t){0});
    if (isolated) b->scope = self->first;
    self->next = self->first;
    self->end = b->value.n;
    return read_block(b, in, self);
}

void region_end(bytecode_t *b, region_t *self)
{
    VEC_FREE(&self->arg);
    b->value.n = self->first;
    b->scope = self->scope;
    b->depth--;
}

int region_define(bytecode_t *b, region_t *self, const uint8_t *at, size_t n, value_t **first)
{
    if (n > self->end - self->next)
        return bytecode_fail(b, at, ERR_CORRUPT, "a region has more than its %zu values",
                             self->end - self->first);
    *first = &b->value.at[self->next];
    self->next += n;
    return 0;
}

int region_argument(bytecode_t *b, region_t *self, size_t i, const uint8_t *at)
{
    value_t *value = NULL;
    if (region_define(b, self, at, 1, &value) < 0) return -1;
    *value = (value_t){
        .number = b->n_arg++, .type = self->arg.at[i].type, .is_arg = true, .is_defined = true};
    value_name(value, &b->out);
    str_add(&b->out, ": ");
    return bytecode_type(b, self->arg.at[i].type, &b->out);
}
