/* The bytes of a file that a user names: mapped if it is a regular one, so that the kernel may take its
 * pages out of memory, read if it is a pipe. */
#ifndef BASE_FILE_VIEW_H
#define BASE_FILE_VIEW_H

#include "base/file.h"

typedef struct {
    const char *at; /* no NUL behind them */
    size_t n;
    bool mapped; /* pages may be given back (file_pages_forget) */
    char *read;
} file_view_t;

/* ERR_IO, ERR_MEMORY. Zeroed before, or after an error, there is nothing to close. */
int file_view_open(const char *path, file_view_t *self, err_t *err);
void file_view_close(file_view_t *self);

/* Whoever cuts a mapped file short takes bytes away from its readers, who get SIGBUS. From now on the
 * process says so on standard error and exits with status 1. For programs of one user; services map files
 * that are only ever replaced (base/file.h). */
void file_view_guard(const char *program);

#endif
