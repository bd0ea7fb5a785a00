/* Attributes: small sorted arrays in the module's arena. */
#include "ir/attr.h"

#include <string.h>

#include "base/hash.h"

/* Index of `name`, or where it belongs, in *at; true when present. */
static bool locate(const ir_attrs_t *attrs, const char *name, int *at)
{
    int i = 0;
    for (; i < attrs->n; i++) {
        int order = strcmp(attrs->at[i].name, name);
        if (order >= 0) {
            *at = i;
            return order == 0;
        }
    }
    *at = i;
    return false;
}

const ir_attr_t *attr_find(const ir_attrs_t *attrs, const char *name)
{
    int at;
    return locate(attrs, name, &at) ? &attrs->at[at] : NULL;
}

int64_t attr_int(const ir_attrs_t *attrs, const char *name, int64_t fallback)
{
    const ir_attr_t *a = attr_find(attrs, name);
    return a && (a->kind == ATTR_INT || a->kind == ATTR_BOOL) ? a->i : fallback;
}

bool attr_bool(const ir_attrs_t *attrs, const char *name, bool fallback)
{
    const ir_attr_t *a = attr_find(attrs, name);
    if (a && a->kind == ATTR_UNIT) return true;
    return a && (a->kind == ATTR_BOOL || a->kind == ATTR_INT) ? a->i != 0 : fallback;
}

const char *attr_text(const ir_attrs_t *attrs, const char *name, const char *fallback)
{
    const ir_attr_t *a = attr_find(attrs, name);
    bool is_text = a && (a->kind == ATTR_STRING || a->kind == ATTR_ENUM || a->kind == ATTR_SYMBOL ||
                         a->kind == ATTR_RAW);
    return is_text ? a->text : fallback;
}

const int64_t *attr_ints(const ir_attrs_t *attrs, const char *name, int *n)
{
    const ir_attr_t *a = attr_find(attrs, name);
    bool is_ints = a && a->kind == ATTR_INTS;
    *n = is_ints ? a->n : 0;
    return is_ints ? a->ints : NULL;
}

void attr_set(arena_t *arena, ir_attrs_t *attrs, ir_attr_t value)
{
    int at;
    if (locate(attrs, value.name, &at)) {
        attrs->at[at] = value;
        return;
    }
    ir_attr_t *grown = ARENA_ARRAY(arena, ir_attr_t, attrs->n + 1);
    for (int i = 0; i < at; i++) grown[i] = attrs->at[i];
    grown[at] = value;
    for (int i = at; i < attrs->n; i++) grown[i + 1] = attrs->at[i];
    attrs->at = grown;
    attrs->n++;
}

void attr_set_int(arena_t *arena, ir_attrs_t *attrs, const char *name, int64_t i)
{
    attr_set(arena, attrs,
             (ir_attr_t){.name = arena_strdup(arena, name), .kind = ATTR_INT, .i = i});
}

void attr_set_bool(arena_t *arena, ir_attrs_t *attrs, const char *name, bool b)
{
    attr_set(arena, attrs,
             (ir_attr_t){.name = arena_strdup(arena, name), .kind = ATTR_BOOL, .i = b});
}

void attr_set_text(arena_t *arena, ir_attrs_t *attrs, const char *name, attr_kind_t kind,
                   const char *text)
{
    ir_attr_t value = {.name = arena_strdup(arena, name), .kind = kind};
    value.text = arena_strdup(arena, text);
    attr_set(arena, attrs, value);
}

void attr_set_ints(arena_t *arena, ir_attrs_t *attrs, const char *name, const int64_t *ints, int n)
{
    ir_attr_t value = {.name = arena_strdup(arena, name), .kind = ATTR_INTS, .n = n};
    value.ints = arena_copy(arena, ints, sizeof *ints * (size_t)n);
    attr_set(arena, attrs, value);
}

void attr_remove(ir_attrs_t *attrs, const char *name)
{
    int at;
    if (!locate(attrs, name, &at)) return;
    for (int i = at + 1; i < attrs->n; i++) attrs->at[i - 1] = attrs->at[i];
    attrs->n--;
}

static bool items_equal(const ir_attr_t *a, const ir_attr_t *b)
{
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++) {
        bool named = a->kind == ATTR_DICT;
        if (named && strcmp(a->items[i].name, b->items[i].name) != 0) return false;
        if (!attr_equal(&a->items[i], &b->items[i])) return false;
    }
    return true;
}

bool attr_equal(const ir_attr_t *a, const ir_attr_t *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case ATTR_UNIT: return true;
    case ATTR_BOOL:
    case ATTR_INT: return a->i == b->i;
    case ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case ATTR_STRING:
    case ATTR_ENUM:
    case ATTR_SYMBOL:
    case ATTR_RAW: return strcmp(a->text, b->text) == 0;
    case ATTR_INTS:
        return a->n == b->n &&
               (a->n == 0 || memcmp(a->ints, b->ints, sizeof *a->ints * (size_t)a->n) == 0);
    case ATTR_TENSOR: return tensor_equal(a->tensor, b->tensor);
    case ATTR_TYPE: return ir_type_equal(a->type, b->type);
    case ATTR_LIST:
    case ATTR_DICT: return items_equal(a, b);
    }
    return false;
}

bool attrs_equal(const ir_attrs_t *a, const ir_attrs_t *b)
{
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (strcmp(a->at[i].name, b->at[i].name) != 0 || !attr_equal(&a->at[i], &b->at[i]))
            return false;
    return true;
}

static uint64_t value_hash(const ir_attr_t *a)
{
    switch (a->kind) {
    case ATTR_BOOL:
    case ATTR_INT: return (uint64_t)a->i;
    case ATTR_FLOAT: return hash_fast(&a->f, sizeof a->f);
    case ATTR_STRING:
    case ATTR_ENUM:
    case ATTR_SYMBOL:
    case ATTR_RAW: return hash_fast(a->text, strlen(a->text));
    case ATTR_INTS: return hash_fast(a->ints, sizeof *a->ints * (size_t)a->n);
    case ATTR_TENSOR: /* the first element only: a splat equals its expansion */
        return hash_fast(a->tensor->data,
                         ir_type_count(&a->tensor->type) ? dtype_bytes(a->tensor->type.dtype) : 0);
    default: return (uint64_t)a->kind + (uint64_t)a->n * 16;
    }
}

uint64_t attrs_hash(const ir_attrs_t *attrs)
{
    uint64_t h = (uint64_t)attrs->n;
    for (int i = 0; i < attrs->n; i++) {
        h = h * 0x9E3779B97F4A7C15u + hash_fast(attrs->at[i].name, strlen(attrs->at[i].name));
        h = h * 0x9E3779B97F4A7C15u + value_hash(&attrs->at[i]);
    }
    return h;
}
