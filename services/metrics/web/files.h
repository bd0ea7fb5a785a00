/* The page's files, part of the program. */
#ifndef METRICS_WEB_FILES_H
#define METRICS_WEB_FILES_H

#include <stddef.h>

typedef struct {
    const char *path, *type; /* "/page/main.js"; of "/" the index */
    const char *at;
    size_t n;
    char etag[40]; /* quoted, of the content */
} web_file_t;

/* Fill in what is computed; once, before web_file_find. */
void web_files_init(void);

/* NULL: there is none of exactly that path. */
const web_file_t *web_file_find(const char *path);

#endif
