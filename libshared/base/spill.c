/* Blocks in a list; those in the file are mappings of their own. */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"

typedef struct {
    char *at;
    size_t n;
    bool mapped;
} spilled_t;

struct spill {
    int n_owner;
    size_t keep, kept; /* bytes in memory: at most, so far */
    int fd;            /* -1: no file yet */
    size_t n_file;     /* its length */
    char *dir;
    VEC(spilled_t) block;
};

spill_t *spill_new(size_t keep_bytes)
{
    spill_t *self = mem_calloc(1, sizeof *self);
    self->n_owner = 1;
    self->keep = keep_bytes;
    self->fd = -1;
    return self;
}

spill_t *spill_share(spill_t *self)
{
    if (self) self->n_owner++;
    return self;
}

void spill_release(spill_t **self_p)
{
    spill_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    *self_p = NULL;
    if (--self->n_owner > 0) return;
    for (size_t i = 0; i < self->block.n; i++) {
        spilled_t *b = &self->block.at[i];
        if (b->mapped)
            munmap(b->at, b->n);
        else
            free(b->at);
    }
    VEC_FREE(&self->block);
    if (self->fd >= 0) close(self->fd);
    free(self->dir);
    free(self);
}

/* --- the file --- */

static char *find_dir(err_t *err)
{
    const char *tmp = getenv("TMPDIR");
    if (tmp && *tmp) return mem_strdup(tmp);
    char *cache = file_cache_dir();
    if (!cache) return mem_strdup("/tmp");
    if (file_make_dirs(cache, err) == 0) return cache;
    free(cache);
    return NULL;
}

/* Without a name from the beginning where the file system can, else for the moment between two calls. */
static int open_unnamed(const char *dir, err_t *err)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    char *path = mem_printf("%s/pcp-spill", dir), *name = NULL;
    fd = file_open_temporary(path, 0600, &name, err);
    if (fd >= 0) unlink(name);
    if (fd < 0) err_prefix(err, "no temporary file for large constants (TMPDIR says where): ");
    free(name);
    free(path);
    return fd;
}

static int open_file(spill_t *self, err_t *err)
{
    if (self->fd >= 0) return 0;
    if (!self->dir && !(self->dir = find_dir(err))) return -1;
    self->fd = open_unnamed(self->dir, err);
    return self->fd < 0 ? -1 : 0;
}

/* Sparse files are no promise: a page that finds no room when it is written kills the process. */
static int grow_file(spill_t *self, size_t n, err_t *err)
{
    int why;
    do why = posix_fallocate(self->fd, (off_t)self->n_file, (off_t)n);
    while (why == EINTR);
    if (why == 0) return 0;
    return err_set(
        err, ERR_IO,
        "%s: no room for a temporary file with %zu MB of large constants: %s; set TMPDIR to a "
        "directory on a disk with more room",
        self->dir, (self->n_file + n + 999999) / 1000000, strerror(why));
}

static int map_block(spill_t *self, spilled_t *out, err_t *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (out->n + page - 1) / page * page;
    if (open_file(self, err) < 0 || grow_file(self, n, err) < 0) return -1;
    void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, (off_t)self->n_file);
    if (at == MAP_FAILED)
        return err_set_errno(err, "%s: mapping %zu MB of a temporary file", self->dir, n / 1000000);
    self->n_file += n;
    *out = (spilled_t){.at = at, .n = n, .mapped = true};
    return 0;
}

/* --- blocks --- */

static int keep_block(spill_t *self, spilled_t *out, err_t *err)
{
    out->at = calloc(1, out->n);
    if (!out->at) return err_set(err, ERR_MEMORY, "%zu MB of constants", out->n / 1000000);
    self->kept += out->n;
    return 0;
}

void *spill_alloc(spill_t *self, size_t n_bytes, err_t *err)
{
    spilled_t block = {.n = n_bytes};
    if (n_bytes > SIZE_MAX / 4) {
        err_set(err, ERR_MEMORY, "a constant of %zu bytes", n_bytes);
        return NULL;
    }
    bool fits = n_bytes <= self->keep && self->kept <= self->keep - n_bytes;
    if ((fits ? keep_block : map_block)(self, &block, err) < 0) return NULL;
    VEC_PUSH(&self->block, block);
    return block.at;
}

static const spilled_t *find_block(const spill_t *self, const void *at)
{
    const char *place = at;
    for (size_t i = self ? self->block.n : 0; i-- > 0;) {
        const spilled_t *b = &self->block.at[i];
        if (place >= b->at && place < b->at + b->n) return b;
    }
    return NULL;
}

/* Dirty pages of a shared mapping stay in the page cache: only this process lets go of them. */
void spill_rest(const spill_t *self, const void *at, size_t n_bytes)
{
    const spilled_t *block = find_block(self, at);
    if (block && block->mapped) file_pages_forget(at, n_bytes);
}

bool spill_holds(const spill_t *self, const void *at)
{
    return find_block(self, at) != NULL;
}

size_t spill_file_bytes(const spill_t *self)
{
    return self->n_file;
}
