/* zlib and libzstd behind one reader. */
#include "data/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/str.h"

enum {
    IN_BYTES = 1 << 17,
    GZIP_BITS = 15 + 16, /* of zlib: the largest window, gzip's frame */
};

typedef struct packing packing_t;

struct packed_file {
    const char *name;
    int fd;
    const packing_t *packing;
    uint64_t n_done; /* bytes of the file that were taken in */
    bool open;       /* a member or frame has begun and not ended */
    bool some;       /* members have ended before */
    bool ended;      /* the file has */
    z_stream gzip;
    ZSTD_DStream *zstd;
    size_t at, n; /* of in[]: what is not unpacked yet */
    uint8_t in[IN_BYTES];
};

/* --- how it is packed --- */

struct packing {
    const char *suffix, *word;
    int (*begin)(packed_file_t *self, err_t *err);
    /* From in[at, n) into to[n]: moves `at`, adds to *got. */
    int (*unpack)(packed_file_t *self, uint8_t *to, size_t n, size_t *got, err_t *err);
};

static int damaged(const packed_file_t *self, const char *why, err_t *err)
{
    return err_set(err, ERR_CORRUPT,
                   "%s: its %s data are damaged before byte %llu (%s): fetch or pack it again",
                   self->name, self->packing->word,
                   (unsigned long long)(self->n_done - self->n + self->at), why);
}

static int begin_gzip(packed_file_t *self, err_t *err)
{
    if (inflateInit2(&self->gzip, GZIP_BITS) == Z_OK) return 0;
    return err_set(err, ERR_MEMORY, "%s: zlib has no memory", self->name);
}

static int unpack_gzip(packed_file_t *self, uint8_t *to, size_t n, size_t *got, err_t *err)
{
    z_stream *z = &self->gzip;
    if (!self->open) {
        /* Zeros behind a member are padding, as tapes and disks add it. */
        while (self->some && self->at < self->n && self->in[self->at] == 0) self->at++;
        if (self->at == self->n) return 0;
        inflateReset(z);
    }
    self->open = true;
    z->next_in = self->in + self->at;
    z->avail_in = (unsigned)(self->n - self->at);
    z->next_out = to + *got;
    z->avail_out = (unsigned)(n - *got);
    int rc = inflate(z, Z_NO_FLUSH);
    self->at = self->n - z->avail_in;
    *got = n - z->avail_out;
    if (rc == Z_STREAM_END) self->open = false, self->some = true;
    if (rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR) return 0;
    return damaged(self, z->msg ? z->msg : "zlib", err);
}

static int begin_zstd(packed_file_t *self, err_t *err)
{
    self->zstd = ZSTD_createDStream();
    return self->zstd ? 0 : err_set(err, ERR_MEMORY, "%s: libzstd has no memory", self->name);
}

static int unpack_zstd(packed_file_t *self, uint8_t *to, size_t n, size_t *got, err_t *err)
{
    ZSTD_inBuffer in = {self->in, self->n, self->at};
    ZSTD_outBuffer out = {to, n, *got};
    size_t rc = ZSTD_decompressStream(self->zstd, &out, &in);
    self->at = in.pos;
    *got = out.pos;
    self->open = rc != 0;
    if (!ZSTD_isError(rc)) return 0;
    const char *why = ZSTD_getErrorName(rc);
    if (!strstr(why, "memory")) return damaged(self, why, err);
    return err_set(err, ERR_MEMORY,
                   "%s: unpacking it takes a window of more than 128 MiB: pack it without --long",
                   self->name);
}

static int begin_plain(packed_file_t *self, err_t *err)
{
    (void)self, (void)err;
    return 0;
}

static const packing_t packings[] = {
    {".gz", "gzip", begin_gzip, unpack_gzip},
    {".zst", "Zstandard", begin_zstd, unpack_zstd},
    {"", "", begin_plain, NULL},
};

/* --- reading --- */

packed_file_t *packed_file_open(const char *name, const char *path, err_t *err)
{
    packed_file_t *self = mem_calloc(1, sizeof *self);
    self->name = name;
    self->packing = packings;
    while (!str_ends(name, self->packing->suffix)) self->packing++;
    self->fd = open(path ? path : name, O_RDONLY | O_CLOEXEC);
    int rc = self->fd < 0 ? err_set_errno(err, "%s", name) : self->packing->begin(self, err);
    if (rc < 0) packed_file_close(&self);
    return self;
}

void packed_file_close(packed_file_t **self_p)
{
    packed_file_t *self = *self_p;
    if (!self) return;
    if (self->fd >= 0) close(self->fd);
    inflateEnd(&self->gzip);
    ZSTD_freeDStream(self->zstd);
    free(self);
    *self_p = NULL;
}

uint64_t packed_file_done(const packed_file_t *self)
{
    return self->n_done;
}

/* As many bytes of the file as come at once; 0 at its end. */
static ssize_t take(packed_file_t *self, void *to, size_t n, err_t *err)
{
    ssize_t got;
    do got = read(self->fd, to, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_set_errno(err, "%s: byte %llu", self->name, (unsigned long long)self->n_done);
    self->n_done += (uint64_t)got;
    self->ended = got == 0;
    return got;
}

static int read_plain(packed_file_t *self, uint8_t *to, size_t n, size_t *got, err_t *err)
{
    while (*got < n && !self->ended) {
        ssize_t more = take(self, to + *got, n - *got, err);
        if (more < 0) return -1;
        *got += (size_t)more;
    }
    return 0;
}

static int cut_off(const packed_file_t *self, err_t *err)
{
    return err_set(
        err, ERR_CORRUPT,
        "%s: it ends at byte %llu in the middle of its %s data: it was cut off, fetch or "
        "pack it again",
        self->name, (unsigned long long)self->n_done, self->packing->word);
}

int packed_file_read(packed_file_t *self, void *to, size_t n, size_t *got, err_t *err)
{
    *got = 0;
    if (!self->packing->unpack) return read_plain(self, to, n, got, err);
    while (*got < n) {
        size_t before = *got + self->at;
        if (self->at < self->n || self->open)
            if (self->packing->unpack(self, to, n, got, err) < 0) return -1;
        if (*got + self->at > before) continue;
        if (self->at < self->n) return damaged(self, "nothing comes of them", err);
        if (self->ended) return self->open || self->n_done == 0 ? cut_off(self, err) : 0;
        ssize_t more = take(self, self->in, sizeof self->in, err);
        if (more < 0) return -1;
        self->at = 0;
        self->n = (size_t)more;
    }
    return 0;
}
