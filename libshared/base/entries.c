/* By modification time: a file of a cache is never changed, so that its time is free to tell of its use. */
#include "base/entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"

void entries_fini(entries_t *self)
{
    for (size_t i = 0; i < self->n; i++) free(self->at[i].path);
    VEC_FREE(self);
}

entries_t entries_list(const char *dir, const char *begin, const char *end)
{
    entries_t list = {0};
    DIR *at = opendir(dir);
    for (struct dirent *e; at && (e = readdir(at));) {
        struct stat st;
        if (!str_starts(e->d_name, begin) || !str_ends(e->d_name, end)) continue;
        entry_t entry = {.path = mem_printf("%s/%s", dir, e->d_name)};
        if (stat(entry.path, &st) == 0) {
            entry.used = st.st_mtim;
            entry.bytes = (uint64_t)st.st_size;
        }
        VEC_PUSH(&list, entry);
    }
    if (at) closedir(at);
    return list;
}

int entries_newest_first(const void *a, const void *b)
{
    const struct timespec *x = &((const entry_t *)a)->used, *y = &((const entry_t *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec > y->tv_sec ? -1 : 1;
    return x->tv_nsec > y->tv_nsec ? -1 : x->tv_nsec < y->tv_nsec;
}

void entries_touch(const char *path)
{
    utimensat(AT_FDCWD, path, NULL, 0);
}
