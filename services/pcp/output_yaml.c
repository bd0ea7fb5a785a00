/* YAML 1.1 by libyaml, in the form that 1.2 reads the same: a JSON value's own kind is what each reader gets. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/str.h"
#include "pcp/output.h"

/* Would a reader take these letters for a number, a truth, nothing, or a time, if they stood there plain? */
static bool means_another_kind(const char *text)
{
    static const char *const words[] = {"y",   "n",    "yes",   "no",  "on",
                                        "off", "true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0) return true;
    return !*text || isdigit((unsigned char)*text) || strchr("-+.~=<", *text);
}

static void scalar(yaml_emitter_t *to, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    if (yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                     (int)strlen(text), 1, 1, style))
        yaml_emitter_emit(to, &event);
}

static void string(yaml_emitter_t *to, const char *text)
{
    scalar(to, text,
           means_another_kind(text) ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE);
}

/* With a point, also where there is an exponent: readers of 1.1 want one. */
static void real(yaml_emitter_t *to, double value)
{
    char text[48];
    str_t digits = {0};
    str_add_number(&digits, value, 15);
    size_t n = strcspn(digits.at, "e");
    bool point = memchr(digits.at, '.', n) != NULL;
    snprintf(text, sizeof text, "%.*s%s%s", (int)n, digits.at, point ? "" : ".0", digits.at + n);
    str_fini(&digits);
    scalar(to, text, YAML_PLAIN_SCALAR_STYLE);
}

static void emit(yaml_emitter_t *to, const json_t *value);

static void array(yaml_emitter_t *to, const json_t *value)
{
    yaml_event_t event;
    size_t i;
    const json_t *one;
    yaml_sequence_style_t style = json_array_size(value) ? YAML_BLOCK_SEQUENCE_STYLE
                                                         : YAML_FLOW_SEQUENCE_STYLE;
    yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style);
    yaml_emitter_emit(to, &event);
    json_array_foreach(value, i, one) emit(to, one);
    yaml_sequence_end_event_initialize(&event);
    yaml_emitter_emit(to, &event);
}

static void object(yaml_emitter_t *to, const json_t *value)
{
    yaml_event_t event;
    const char *key;
    json_t *one;
    yaml_mapping_style_t style = json_object_size(value) ? YAML_BLOCK_MAPPING_STYLE
                                                         : YAML_FLOW_MAPPING_STYLE;
    yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style);
    yaml_emitter_emit(to, &event);
    json_object_foreach((json_t *)value, key, one)
    {
        string(to, key);
        emit(to, one);
    }
    yaml_mapping_end_event_initialize(&event);
    yaml_emitter_emit(to, &event);
}

static void emit(yaml_emitter_t *to, const json_t *value)
{
    char text[32];
    switch (json_typeof(value)) {
    case JSON_OBJECT: object(to, value); break;
    case JSON_ARRAY: array(to, value); break;
    case JSON_STRING: string(to, json_string_value(value)); break;
    case JSON_INTEGER:
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        scalar(to, text, YAML_PLAIN_SCALAR_STYLE);
        break;
    case JSON_REAL: real(to, json_real_value(value)); break;
    case JSON_TRUE: scalar(to, "true", YAML_PLAIN_SCALAR_STYLE); break;
    case JSON_FALSE: scalar(to, "false", YAML_PLAIN_SCALAR_STYLE); break;
    case JSON_NULL: scalar(to, "null", YAML_PLAIN_SCALAR_STYLE); break;
    }
}

void output_yaml(const json_t *value, FILE *out)
{
    yaml_emitter_t emitter;
    yaml_event_t event;
    if (!yaml_emitter_initialize(&emitter)) return;
    yaml_emitter_set_output_file(&emitter, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    yaml_emitter_emit(&emitter, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    yaml_emitter_emit(&emitter, &event);
    emit(&emitter, value);
    yaml_document_end_event_initialize(&event, 1);
    yaml_emitter_emit(&emitter, &event);
    yaml_stream_end_event_initialize(&event);
    yaml_emitter_emit(&emitter, &event);
    yaml_emitter_flush(&emitter);
    yaml_emitter_delete(&emitter);
}
