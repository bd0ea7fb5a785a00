/* Files of test material. */
#include "corpus.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **corpus_list(const char *folder, const char *suffix, int *n)
{
    VEC(char *) paths = {0};
    DIR *dir = opendir(folder);
    *n = 0;
    if (!dir) return NULL;
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.' || !str_ends(e->d_name, suffix)) continue;
        VEC_PUSH(&paths, mem_printf("%s/%s", folder, e->d_name));
    }
    closedir(dir);
    if (paths.n) qsort(paths.at, paths.n, sizeof *paths.at, by_name);
    *n = (int)paths.n;
    VEC_PUSH(&paths, NULL);
    return paths.at;
}

void corpus_free(char **paths)
{
    for (char **path = paths; path && *path; path++) free(*path);
    free(paths);
}

int corpus_each(const char *folder, int (*run)(const uint8_t *data, size_t n))
{
    int n;
    char **paths = corpus_list(folder, "", &n);
    for (int i = 0; i < n; i++) {
        size_t size;
        char *bytes = file_read(paths[i], &size, NULL);
        if (bytes) run((const uint8_t *)bytes, size);
        free(bytes);
    }
    corpus_free(paths);
    return n;
}

int corpus_sections(const char *folder, corpus_section_fn *run, void *context)
{
    int n, n_section = 0;
    char **files = corpus_list(folder, ".mlir", &n);
    assert_non_null(files);
    for (int i = 0; i < n; i++) {
        err_t err = {0};
        size_t n_text;
        char *text = file_read(files[i], &n_text, &err);
        if (!text) fail_msg("%s", err.text);
        parse_sections_t s = parse_sections(text, n_text);
        for (; parse_sections_next(&s); n_section++) run(context, files[i], &s);
        free(text);
    }
    corpus_free(files);
    print_message("%d sections\n", n_section);
    return n_section;
}

char *corpus_shared(const char *path)
{
    const char *root = getenv("PCP_SHARED");
    return mem_printf("%s/%s", root && *root ? root : "../shared", path);
}

char **corpus_shared_list(const char *folder, const char *suffix, int *n)
{
    char *path = corpus_shared(folder), **files = corpus_list(path, suffix, n);
    if (!files) print_message("no folder %s: skipped\n", path);
    free(path);
    if (!files) skip();
    return files;
}
