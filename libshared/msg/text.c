/* Walks a message by its descriptor. */
#include "msg/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static bool is_bad(unsigned code)
{
    return utf8_is_control(code) && code != '\n' && code != '\t';
}

static bool is_clean(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned code = 0;
        size_t length = utf8_next(text + i, n - i, &code);
        if (length == 0 || is_bad(code)) return false;
        i += length;
    }
    return true;
}

static void clean(char **text)
{
    size_t n = *text ? strlen(*text) : 0;
    if (n == 0 || is_clean(*text, n)) return; /* an empty one may be protobuf-c's own */
    str_t out = {0};
    for (size_t i = 0; i < n;) {
        unsigned code = 0;
        size_t length = utf8_next(*text + i, n - i, &code);
        if (length == 0 || is_bad(code))
            utf8_add(&out, "\xFF", 1);
        else
            str_addn(&out, *text + i, length);
        i += length ? length : 1;
    }
    free(*text);
    *text = out.at;
}

static void clean_field(const ProtobufCFieldDescriptor *f, void *at)
{
    if (f->type == PROTOBUF_C_TYPE_STRING)
        clean(at);
    else if (f->type == PROTOBUF_C_TYPE_MESSAGE && *(ProtobufCMessage **)at)
        msg_text_clean(*(ProtobufCMessage **)at);
}

void msg_text_clean(ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *d = message->descriptor;
    for (unsigned i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];
        char *base = (char *)message;
        if (f->type != PROTOBUF_C_TYPE_STRING && f->type != PROTOBUF_C_TYPE_MESSAGE) continue;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t n = *(size_t *)(base + f->quantifier_offset);
            char **list = *(char ***)(base + f->offset);
            for (size_t k = 0; k < n; k++) clean_field(f, &list[k]);
            continue;
        }
        bool one_of = f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
        if (one_of && *(uint32_t *)(base + f->quantifier_offset) != f->id) continue;
        clean_field(f, base + f->offset);
    }
}
