/* Growable text. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void reserve(str_t *self, size_t extra)
{
    size_t need = self->n + extra + 1;
    if (self->space >= need) return;
    self->space = need > 2 * self->space ? need : 2 * self->space;
    self->at = mem_realloc(self->at, self->space);
}

void str_addn(str_t *self, const char *text, size_t n)
{
    reserve(self, n);
    memcpy(self->at + self->n, text, n);
    self->n += n;
    self->at[self->n] = '\0';
}

void str_add(str_t *self, const char *text)
{
    str_addn(self, text, strlen(text));
}

void str_addf(str_t *self, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    reserve(self, (size_t)n);
    vsnprintf(self->at + self->n, (size_t)n + 1, format, again);
    self->n += (size_t)n;
    va_end(again);
    va_end(args);
}

void str_add_number(str_t *self, double x, int least)
{
    char text[40];
    for (int digits = least; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    str_add(self, text);
}

void str_fini(str_t *self)
{
    free(self->at);
    *self = (str_t){0};
}

const char *str_text(const str_t *self)
{
    return self->at ? self->at : "";
}

bool str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}
