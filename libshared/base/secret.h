/* What other users of the machine are not to see: passwords in URLs, and the files we write. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The next password of a URL at or behind `from`: of USER:PASSWORD@HOST (redis: PASSWORD@HOST, too), then of each
 * ?password=...; NULL: none is left. Borrowed from the text; `n` becomes its length. */
const char *secret_next(const char *url, const char *from, size_t *n);

/* Overwrite each password of a URL with '*', in place. Returns whether there was one. */
bool secret_hide(char *url);

/* How many of its first bytes an error may show of what should be a URL, and is none: a scheme. */
int secret_kind(const char *url);

/* At the start of a program: files and directories that it makes are its user's alone (umask 077),
 * or as the environment's PCP_UMASK says ("027", "022": also for a group, for everybody).
 * ERR_ARG: that is no octal number up to 077. */
int secret_umask(err_t *err);

/* The first line of a file, for a secret that a flag or the environment names as @FILE. Returns,
 * caller frees; NULL: ERR_IO, or ERR_ARG: it is empty, or longer than a line of 4,095 bytes. */
char *secret_read(const char *path, err_t *err);

/* A secret that was read so may have another value days later, a password that was changed. secret_keep: `text` is what
 * the file said at the start; before there are threads. secret_origin: "@FILE", as it was named, NULL: of no file;
 * borrowed for good. secret_again: what the file says now, or `text`, where it is of none or that cannot be read; caller
 * frees. Any thread. */
void secret_keep(const char *text, const char *path);
const char *secret_origin(const char *text);
char *secret_again(const char *text);

/* A file that nobody else may read: regular, its owner's alone (0600 or less; of root's also our group's,
 * 0640), of at most `most` bytes. Returns its text with a NUL behind it, caller frees; NULL: ERR_IO or
 * ERR_ARG, naming path, mode and fix. */
char *secret_file(const char *path, size_t most, size_t *n, err_t *err);

#endif
