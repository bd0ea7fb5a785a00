/* The chat page's files, part of the program. */
#ifndef GATEWAY_PAGE_H
#define GATEWAY_PAGE_H

#include <stddef.h>

typedef struct {
    const char *path, *type;
    const char *at, *end; /* the bytes */
} page_file_t;

/* NULL: there is none of exactly that path. */
const page_file_t *page_find(const char *path);

#endif
