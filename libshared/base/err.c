/* Errors as values; see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Names in it come from files and peers, and what is too long was cut anywhere. Whoever reads it, a terminal, a peer
 * or a database, takes plain text. */
static int finish(err_t *err)
{
    utf8_plain(err->text, true);
    return -1;
}

int err_set(err_t *err, err_code_t code, const char *format, ...)
{
    if (!err) return -1;
    va_list args;
    va_start(args, format);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return finish(err);
}

int err_set_errno(err_t *err, const char *format, ...)
{
    int saved = errno;
    if (!err) return -1;
    va_list args;
    va_start(args, format);
    err->code = ERR_IO;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(saved));
    return finish(err);
}

int err_prefix(err_t *err, const char *format, ...)
{
    if (!err) return -1;
    char old[sizeof err->text];
    memcpy(old, err->text, sizeof old);
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, "%s", old);
    return finish(err);
}

int err_about(err_t *err, const char *name)
{
    size_t n = strlen(name);
    bool said = err && n > 0 && strncmp(err->text, name, n) == 0 &&
                (err->text[n] == ':' || err->text[n] == '/' || name[n - 1] == '/');
    return said ? -1 : err_prefix(err, "%s: ", name);
}

void err_clear(err_t *err)
{
    if (!err) return;
    err->code = ERR_OK;
    err->text[0] = '\0';
}
