/* How lists are printed: as a table for people, as JSON or YAML for programs. The one place for these formats:
 * a command makes JSON values of what it has, and says which of them a table shows. */
#ifndef PCP_OUTPUT_H
#define PCP_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/config.h"

typedef enum { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_YAML } output_t;

/* The flags, for all that list: `type` has a char *output and a bool json. */
#define OUTPUT_FIELDS(type, verbs)                                                             \
    {"output", CONFIG_ENUM, offsetof(type, output), "table", verbs "how it is printed",        \
     0,        0,           "table|json|yaml",      false},                                    \
    {                                                                                          \
        "json", CONFIG_BOOL, offsetof(type, json), "false", verbs "the same as -o json", 0, 0, \
            NULL, false                                                                        \
    }
output_t output_of(const char *output, bool json);

typedef struct {
    const char *title, *key; /* a title that begins with a blank: values, too */
    int width;               /* at least so many columns; below 0: values end at the right */
    const char *beside;      /* another key: "VALUE/OTHER"; NULL: none */
} output_column_t;

/* Print an array of objects to `out`. In a table null, and a key that is not there, is "-", a real number has four
 * digits behind the point, and control characters are blanks. Takes `rows`. */
void output_list(output_t format, const output_column_t *columns, size_t n_column, json_t *rows,
                 FILE *out);

/* The same of any value, in JSON or YAML: not OUTPUT_TABLE. Takes `value`. */
void output_value(output_t format, json_t *value, FILE *out);

/* A text as a JSON string: bytes that are no UTF-8 become U+FFFD; NULL and "": null. */
json_t *output_text(const char *text);

/* output_yaml.c: borrowed. */
void output_yaml(const json_t *value, FILE *out);

#endif
