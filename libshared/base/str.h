/* Growable text. `str_t s = {0}` is an empty string; str_fini frees it. Also whole-file reading. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *at; /* NUL-terminated once anything was added; NULL before */
    size_t n, space;
} str_t;

void str_add(str_t *self, const char *text);
void str_addn(str_t *self, const char *text, size_t n);
void str_addf(str_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The fewest digits that read back to the same double, but at least so many before an exponent is written: 1e+05 with 1,
 * 100000 with 6 or more; 1 to 17. */
void str_add_number(str_t *self, double x, int least);
void str_fini(str_t *self);

/* The text so far; "" when empty. Borrowed. */
const char *str_text(const str_t *self);

bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

#endif
