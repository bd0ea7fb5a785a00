/* Tuples, tokens and quantised tensors while they are read; see wide.h. */
#include "parse/wide.h"

#include <stdio.h>
#include <string.h>

/* --- descriptions --- */

const wide_t *wide_of(const parser_t *p, const ir_type_t *type)
{
    return &p->wide.at[type->dtype - DT_COUNT - 1];
}

const quant_t *wide_quant(const parser_t *p, const ir_type_t *type)
{
    if (!wide_is(type)) return NULL;
    const wide_t *wide = wide_of(p, type);
    return wide->kind == WIDE_QUANT ? &wide->quant : NULL;
}

static uint64_t mix(uint64_t h, const void *at, size_t n)
{
    const uint8_t *byte = at;
    for (size_t i = 0; i < n; i++) h = (h ^ byte[i]) * 0x100000001B3u; /* FNV-1a */
    return h;
}

static uint64_t hash_of(const wide_t *w)
{
    const quant_t *q = &w->quant;
    int64_t head[] = {w->kind, w->n_item, q->storage, q->expressed, q->min, q->max, q->axis, q->n};
    uint64_t h = mix(0xCBF29CE484222325u, head, sizeof head);
    for (int i = 0; i < w->n_item; i++) {
        h = mix(h, &w->item[i].dtype, sizeof w->item[i].dtype);
        h = mix(h, w->item[i].dim, sizeof w->item[i].dim[0] * (size_t)w->item[i].rank);
    }
    h = mix(h, q->scale, sizeof *q->scale * (size_t)q->n);
    return mix(h, q->zero, sizeof *q->zero * (size_t)q->n);
}

static bool same(const wide_t *a, const wide_t *b)
{
    const quant_t *p = &a->quant, *q = &b->quant;
    if (a->hash != b->hash || a->kind != b->kind || a->n_item != b->n_item) return false;
    for (int i = 0; i < a->n_item; i++)
        if (!ir_type_equal(&a->item[i], &b->item[i])) return false;
    if (a->kind != WIDE_QUANT) return true;
    return p->storage == q->storage && p->expressed == q->expressed && p->min == q->min &&
           p->max == q->max && p->axis == q->axis && p->n == q->n &&
           memcmp(p->scale, q->scale, sizeof *p->scale * (size_t)p->n) == 0 &&
           memcmp(p->zero, q->zero, sizeof *p->zero * (size_t)p->n) == 0;
}

dtype_t wide_intern(parser_t *p, const wide_t *wide, const char *at)
{
    wide_t fresh = *wide;
    fresh.hash = hash_of(wide);
    size_t i = 0;
    while (i < p->wide.n && !same(&p->wide.at[i], &fresh)) i++;
    if (i == WIDE_MAX_TYPES) {
        parse_fail(p, at, ERR_UNSUPPORTED, "more than %d different tuples and quantised types",
                   WIDE_MAX_TYPES);
        return DT_NONE;
    }
    if (i == p->wide.n) {
        if (wide->n_item)
            fresh.item = arena_copy(p->arena, wide->item,
                                    sizeof *wide->item * (size_t)wide->n_item);
        VEC_PUSH(&p->wide, fresh);
    }
    return (dtype_t)(DT_COUNT + 1 + i);
}

const char *parse_type_text(const parser_t *p, const ir_type_t *type, char buf[IR_TYPE_TEXT])
{
    if (!wide_is(type)) return ir_type_text(type, buf);
    const wide_t *wide = wide_of(p, type);
    int n = 0, quant = wide->kind == WIDE_QUANT;
    if (quant) n = snprintf(buf, IR_TYPE_TEXT, "tensor<");
    for (int i = 0; i < type->rank && n < IR_TYPE_TEXT - 40; i++)
        n += snprintf(buf + n, IR_TYPE_TEXT - (size_t)n, "%lldx", (long long)type->dim[i]);
    snprintf(buf + n, IR_TYPE_TEXT - (size_t)n, "%.100s%s", wide->text, quant ? ">" : "");
    return buf;
}

/* --- types --- */

static int tuple_items(parser_t *p, types_t *items)
{
    if (parse_expect(p, '<', "< after tuple") < 0) return -1;
    if (p->tok.kind != '>' && parse_type_list(p, items) < 0) return -1;
    return parse_expect(p, '>', ", or > of the tuple");
}

int wide_tuple_type(parser_t *p, ir_type_t *type)
{
    const char *at = p->tok.at;
    types_t items = {0};
    if (parse_enter(p) < 0) return -1;
    parse_next(p);
    int rc = tuple_items(p, &items);
    wide_t wide = {.kind = WIDE_TUPLE, .n_item = (int)items.n, .item = items.at};
    for (size_t i = 0; rc == 0 && i < items.n; i++)
        wide.n_leaf += wide_is(&items.at[i]) ? wide_of(p, &items.at[i])->n_leaf : 1;
    if (rc == 0 && wide.n_leaf > PARSE_MAX_RESULTS)
        rc = parse_fail(p, at, ERR_UNSUPPORTED, "a tuple of more than %d tensors",
                        PARSE_MAX_RESULTS);
    if (rc == 0) {
        size_t n = (size_t)(p->behind - at);
        wide.text = arena_strndup(p->arena, at, p->behind > at ? n < 100 ? n : 100 : 0);
        *type = ir_type_scalar(wide_intern(p, &wide, at));
        if (type->dtype == DT_NONE) rc = -1;
    }
    VEC_FREE(&items);
    parse_leave(p);
    return rc;
}

int wide_token_type(parser_t *p, ir_type_t *type)
{
    wide_t wide = {.kind = WIDE_TOKEN, .text = "!stablehlo.token"};
    *type = ir_type_scalar(wide_intern(p, &wide, p->tok.at));
    parse_next(p);
    return type->dtype == DT_NONE ? -1 : 0;
}

static void add_leaf_types(const parser_t *p, const ir_type_t *type, types_t *out)
{
    const wide_t *wide = wide_is(type) ? wide_of(p, type) : NULL;
    if (wide && wide->kind != WIDE_QUANT) {
        for (int i = 0; i < wide->n_item; i++) add_leaf_types(p, &wide->item[i], out);
        return;
    }
    ir_type_t leaf = wide ? ir_type_with(*type, wide->quant.storage) : *type;
    VEC_PUSH(out, leaf);
}

/* Aliases let a few bytes name a tuple of many tensors: without a bound the module could be many
 * times as large as its text. */
int wide_leaf_types(parser_t *p, const ir_type_t *type, types_t *out)
{
    if (wide_is(type)) p->n_leaf += wide_of(p, type)->n_leaf;
    if (p->n_leaf > WIDE_SPARE_LEAVES + (p->lex.end - p->lex.text) / WIDE_BYTES_PER_LEAF)
        return parse_fail(p, p->tok.at, ERR_UNSUPPORTED, "tuples of too many tensors in all");
    add_leaf_types(p, type, out);
    return 0;
}

/* --- values --- */

ir_val_t wide_value(parser_t *p, const ir_type_t *type, const ir_val_t *leaf, size_t n)
{
    const ir_region_t *nowhere = ir_region_new(p->fn, 1, type);
    pack_t pack = {nowhere->arg, n, arena_copy(p->arena, leaf, sizeof *leaf * n)};
    VEC_PUSH(&p->packs, pack);
    return nowhere->arg;
}

ir_val_t wide_values(parser_t *p, size_t n, const ir_type_t *types, ir_val_t leaf)
{
    const ir_region_t *nowhere = ir_region_new(p->fn, (int)n, types);
    for (size_t i = 0; i < n; i++) {
        size_t n_leaf = wide_is(&types[i]) ? (size_t)wide_of(p, &types[i])->n_leaf : 1;
        ir_val_t *leaves = ARENA_ARRAY(p->arena, ir_val_t, n_leaf + 1);
        for (size_t k = 0; k < n_leaf; k++) leaves[k] = leaf++;
        pack_t pack = {nowhere->arg + (ir_val_t)i, n_leaf, leaves};
        VEC_PUSH(&p->packs, pack);
    }
    return nowhere->arg;
}

void wide_leaves(const parser_t *p, ir_val_t value, vals_t *out)
{
    size_t low = 0, high = p->packs.n; /* in order of their values */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p->packs.at[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == p->packs.n || p->packs.at[low].value != value) {
        VEC_PUSH(out, value);
        return;
    }
    for (size_t i = 0; i < p->packs.at[low].n; i++) VEC_PUSH(out, p->packs.at[low].leaf[i]);
}
