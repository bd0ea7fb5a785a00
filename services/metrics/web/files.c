/* The files of services/metrics/page and the plotting library, put into the program by the
 * assembler. The Makefile writes their list, build/gen/page.inc. */
#include "metrics/web/files.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"

#define PAGE(number, file, path)                       \
    __asm__(".pushsection .rodata\n"                   \
            "page_" #number ": .incbin \"" file "\"\n" \
            "page_end_" #number ": .byte 0\n"          \
            ".popsection\n");                          \
    extern const char page_##number[], page_end_##number[] __attribute__((visibility("hidden")));
#include "page.inc"
#undef PAGE

#define PAGE(number, file, path) {path, NULL, page_##number, 0, ""},
static web_file_t files[] = {
#include "page.inc"
};
#undef PAGE
#define PAGE(number, file, path) page_end_##number,
static const char *const ends[] = {
#include "page.inc"
};
enum { N_FILES = sizeof files / sizeof *files };

static const char *type_of(const char *path)
{
    static const char *const types[][2] = {
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_ends(path, types[i][0])) return types[i][1];
    return "text/html; charset=utf-8";
}

void web_files_init(void)
{
    for (size_t i = 0; i < N_FILES; i++) {
        web_file_t *file = &files[i];
        char hash[HASH_HEX];
        if (str_ends(file->path, "/index.html")) file->path = "/";
        file->type = type_of(file->path);
        file->n = (size_t)(ends[i] - file->at);
        hash_content(file->at, file->n, hash);
        snprintf(file->etag, sizeof file->etag, "\"%.32s\"", hash);
    }
}

const web_file_t *web_file_find(const char *path)
{
    for (size_t i = 0; i < N_FILES; i++)
        if (strcmp(files[i].path, path) == 0) return &files[i];
    return NULL;
}
