/* Mutations of a plan that keep it a plan: a number, a word or a row of a table is changed, and the message packed again, so
 * that what lies behind the parser is reached. Fields are found by protobuf-c's descriptors. */
#ifndef TESTS_PLAN_MUTATE_H
#define TESTS_PLAN_MUTATE_H

#include "base/rng.h"
#include "proto/plan.pb-c.h"

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most) __attribute__((weak));

typedef struct {
    ProtobufCMessage *message;
    const ProtobufCFieldDescriptor *field;
} plan_place_t;

typedef struct {
    uint64_t seed, drawn;
    size_t n, wanted; /* fields so far; the one that is looked for */
    plan_place_t place;
} plan_mutation_t;

static uint64_t plan_draw(plan_mutation_t *self)
{
    return rng_bits(self->seed, self->drawn++);
}

static void *plan_at(const plan_place_t *p)
{
    return (char *)p->message + p->field->offset;
}

static size_t *plan_count(const plan_place_t *p)
{
    return (size_t *)(void *)((char *)p->message + p->field->quantifier_offset);
}

/* Numbers all the fields that are there; finds the wanted one. */
static void plan_walk(plan_mutation_t *self, ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *all = message->descriptor;
    for (unsigned i = 0; i < all->n_fields; i++) {
        plan_place_t p = {message, &all->fields[i]};
        bool one_of = p.field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
        if (one_of && *(uint32_t *)(void *)plan_count(&p) != p.field->id) continue;
        if (self->n++ == self->wanted) self->place = p;
        if (p.field->type != PROTOBUF_C_TYPE_MESSAGE) continue;
        bool many = p.field->label == PROTOBUF_C_LABEL_REPEATED;
        ProtobufCMessage **row = many ? *(ProtobufCMessage ***)plan_at(&p) : plan_at(&p);
        for (size_t k = 0; k < (many ? *plan_count(&p) : 1); k++)
            if (row[k]) plan_walk(self, row[k]);
    }
}

static int64_t plan_number(plan_mutation_t *self, int64_t now)
{
    static const int64_t odd[] = {0, 1, -1, 2, 255, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN};
    uint64_t r = plan_draw(self), was = (uint64_t)now;
    switch (r % 5) {
    case 0: return (int64_t)(was + 1);
    case 1: return (int64_t)(was - 1);
    case 2: return (int64_t)(was * 2);
    case 3: return (int64_t)(was ^ (uint64_t)1 << (r >> 8) % 64);
    default: return odd[(r >> 8) % (sizeof odd / sizeof *odd)];
    }
}

static size_t plan_width(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_BOOL: return sizeof(uint32_t);
    default: return sizeof(uint64_t);
    }
}

/* Texts lose their ends: what is freed later stays the same. */
static void plan_change(plan_mutation_t *self, const ProtobufCFieldDescriptor *field, void *at)
{
    char *text = field->type == PROTOBUF_C_TYPE_STRING ? *(char **)at : NULL;
    ProtobufCBinaryData *bytes = at;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) return;
    if (text && *text)
        text[plan_draw(self) % strlen(text)] = (char)(plan_draw(self) % 3 ? plan_draw(self) : 0);
    else if (field->type == PROTOBUF_C_TYPE_BYTES)
        bytes->len = bytes->len ? plan_draw(self) % bytes->len : 0;
    else if (!text && plan_width(field) == sizeof(uint32_t))
        *(uint32_t *)at = (uint32_t)plan_number(self, *(int32_t *)at);
    else if (!text)
        *(int64_t *)at = plan_number(self, *(int64_t *)at);
}

/* Of a list: two change places, or one is changed. */
static void plan_change_list(plan_mutation_t *self)
{
    const plan_place_t *p = &self->place;
    size_t n = *plan_count(p), width = plan_width(p->field);
    char *at = *(char **)plan_at(p), swap[sizeof(ProtobufCBinaryData)];
    if (n == 0) return;
    char *a = at + plan_draw(self) % n * width, *b = at + plan_draw(self) % n * width;
    if (plan_draw(self) % 2) {
        plan_change(self, p->field, a);
        return;
    }
    memcpy(swap, a, width);
    memmove(a, b, width);
    memcpy(b, swap, width);
}

/* The new length; 0: nothing was changed, or it does not fit. */
static size_t plan_mutate(uint8_t *data, size_t n, size_t most, uint64_t seed)
{
    Pcp__Plan *plan = pcp__plan__unpack(NULL, n, data);
    if (!plan) return 0;
    plan_mutation_t self = {.seed = seed, .wanted = SIZE_MAX};
    plan_walk(&self, &plan->base);
    self.wanted = plan_draw(&self) % self.n;
    self.n = 0;
    plan_walk(&self, &plan->base);
    if (self.place.field->label == PROTOBUF_C_LABEL_REPEATED)
        plan_change_list(&self);
    else
        plan_change(&self, self.place.field, plan_at(&self.place));
    size_t n_new = pcp__plan__get_packed_size(plan);
    if (n_new <= most) pcp__plan__pack(plan, data);
    pcp__plan__free_unpacked(plan, NULL);
    return n_new <= most ? n_new : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
    size_t changed = seed % 4 ? plan_mutate(data, n, most, seed) : 0;
    return changed || !LLVMFuzzerMutate ? changed : LLVMFuzzerMutate(data, n, most);
}

#endif
