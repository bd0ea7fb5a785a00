/* A zip archive's directory stands at its end: it is found from there, then read forward. */
#include "data/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/vec.h"

enum {
    END_BYTES = 22,     /* of the end record, without its comment */
    LOCATOR_BYTES = 20, /* of ZIP64's pointer to its own end record, in front */
    END64_BYTES = 56,
    ENTRY_BYTES = 46, /* of a member in the directory, without name, extra, comment */
    LOCAL_BYTES = 30, /* in front of a member's bytes, without name and extra */
    MAX_COMMENT = 65535,
    MAX_RATIO = 1032, /* deflate makes no more of a byte */
    STORED = 0,
    DEFLATED = 8,
};
static const uint32_t end_mark = 0x06054B50, locator_mark = 0x07064B50, end64_mark = 0x06064B50,
                      entry_mark = 0x02014B50, local_mark = 0x04034B50;

struct zip {
    const uint8_t *at;
    uint64_t n;
    VEC(zip_member_t) member;
};

static uint64_t number(const uint8_t *at, int n_bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < n_bytes; i++) v |= (uint64_t)at[i] << 8 * i;
    return v;
}

static bool inside(const zip_t *self, uint64_t begin, uint64_t n)
{
    return begin <= self->n && n <= self->n - begin;
}

/* --- the end record --- */

typedef struct {
    uint64_t n_member, n_bytes, begin;
} directory_t;

/* Where the end record is: the last mark whose comment ends with the file. */
static const uint8_t *find_end(const zip_t *self)
{
    if (self->n < END_BYTES) return NULL;
    uint64_t last = self->n - END_BYTES;
    uint64_t first = last > MAX_COMMENT ? last - MAX_COMMENT : 0;
    for (uint64_t i = last + 1; i-- > first;) {
        const uint8_t *at = self->at + i;
        if (number(at, 4) == end_mark && number(at + 20, 2) == self->n - i - END_BYTES) return at;
    }
    return NULL;
}

static int read_end64(const zip_t *self, const uint8_t *end, directory_t *out, err_t *err)
{
    uint64_t place = (uint64_t)(end - self->at);
    if (place < LOCATOR_BYTES || number(end - LOCATOR_BYTES, 4) != locator_mark)
        return err_set(err, ERR_CORRUPT, "its sizes need ZIP64, but there is no such record");
    uint64_t begin = number(end - LOCATOR_BYTES + 8, 8);
    if (!inside(self, begin, END64_BYTES) || number(self->at + begin, 4) != end64_mark)
        return err_set(err, ERR_CORRUPT, "its ZIP64 record is not where it should be");
    const uint8_t *at = self->at + begin;
    *out = (directory_t){number(at + 32, 8), number(at + 40, 8), number(at + 48, 8)};
    return 0;
}

static int read_end(const zip_t *self, directory_t *out, err_t *err)
{
    const uint8_t *end = find_end(self);
    if (!end) return err_set(err, ERR_PARSE, "this is no zip archive, or it is cut off");
    if (number(end + 4, 2) != 0 || number(end + 6, 2) != 0 ||
        number(end + 8, 2) != number(end + 10, 2))
        return err_set(err, ERR_UNSUPPORTED, "the archive is split into several files");
    *out = (directory_t){number(end + 10, 2), number(end + 12, 4), number(end + 16, 4)};
    if (out->n_member == 0xFFFF || out->n_bytes == 0xFFFFFFFF || out->begin == 0xFFFFFFFF)
        if (read_end64(self, end, out, err) < 0) return -1;
    if (!inside(self, out->begin, out->n_bytes) || out->n_member > out->n_bytes / ENTRY_BYTES)
        return err_set(err, ERR_CORRUPT, "its directory lies outside of it");
    return 0;
}

/* --- members --- */

static int corrupt(err_t *err, const zip_member_t *m, const char *what)
{
    return err_set(err, ERR_CORRUPT, "\"%.100s\" in the archive: %s", m->name, what);
}

/* Sizes and place that did not fit 32 bits stand in the extra field, in this order. */
static int read_extra(const uint8_t *extra, uint64_t n, zip_member_t *m, uint64_t *place,
                      err_t *err)
{
    uint64_t *const values[] = {&m->n_bytes, &m->n_packed, place};
    enum { ZIP64 = 1 };
    for (uint64_t at = 0; n - at >= 4;) {
        uint64_t kind = number(extra + at, 2), size = number(extra + at + 2, 2);
        at += 4;
        if (size > n - at) return corrupt(err, m, "its extra field is cut off");
        for (size_t i = 0, used = 0; kind == ZIP64 && i < 3; i++) {
            if (*values[i] != 0xFFFFFFFF) continue;
            if (size - used < 8) return corrupt(err, m, "its ZIP64 field is too short");
            *values[i] = number(extra + at + used, 8);
            used += 8;
        }
        at += size;
    }
    return 0;
}

/* The member's bytes behind its local header, and whether its sizes can be. */
static int find_bytes(const zip_t *self, zip_member_t *m, uint64_t place, err_t *err)
{
    if (!inside(self, place, LOCAL_BYTES) || number(self->at + place, 4) != local_mark)
        return corrupt(err, m, "it is not where the directory says");
    const uint8_t *local = self->at + place;
    uint64_t begin = place + LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
    if (!inside(self, begin, m->n_packed)) return corrupt(err, m, "it ends outside of the file");
    m->at = self->at + begin;
    if (m->stored ? m->n_bytes != m->n_packed
                  : m->n_bytes / MAX_RATIO > m->n_packed || m->n_bytes > SIZE_MAX / 2)
        return corrupt(err, m, "so few bytes cannot unpack to the size that it says");
    return 0;
}

/* Names are kept with a NUL; what a name may be is the caller's business. */
static int read_member(zip_t *self, const uint8_t *at, uint64_t room, uint64_t *used, err_t *err)
{
    if (room < ENTRY_BYTES || number(at, 4) != entry_mark)
        return err_set(err, ERR_CORRUPT, "its directory is damaged");
    uint64_t n_name = number(at + 28, 2), n_extra = number(at + 30, 2);
    *used = ENTRY_BYTES + n_name + n_extra + number(at + 32, 2);
    if (*used > room || memchr(at + ENTRY_BYTES, 0, n_name))
        return err_set(err, ERR_CORRUPT, "its directory is damaged");
    zip_member_t m = {.crc = (uint32_t)number(at + 16, 4),
                      .n_packed = number(at + 20, 4),
                      .n_bytes = number(at + 24, 4),
                      .stored = number(at + 10, 2) == STORED};
    uint64_t place = number(at + 42, 4);
    char *name = mem_calloc(n_name + 1, 1);
    memcpy(name, at + ENTRY_BYTES, n_name);
    m.name = name;
    VEC_PUSH(&self->member, m);
    zip_member_t *kept = &self->member.at[self->member.n - 1];
    if (number(at + 8, 2) & 1)
        return err_set(err, ERR_UNSUPPORTED, "\"%.100s\" is encrypted", name);
    if (!m.stored && number(at + 10, 2) != DEFLATED)
        return err_set(err, ERR_UNSUPPORTED,
                       "\"%.100s\" is packed by method %d; stored and deflated ones are read", name,
                       (int)number(at + 10, 2));
    if (read_extra(at + ENTRY_BYTES + n_name, n_extra, kept, &place, err) < 0) return -1;
    return find_bytes(self, kept, place, err);
}

zip_t *zip_view(const void *bytes, size_t n, err_t *err)
{
    zip_t *self = mem_calloc(1, sizeof *self);
    directory_t d = {0};
    self->at = bytes;
    self->n = n;
    int rc = read_end(self, &d, err);
    for (uint64_t i = 0, at = 0, used = 0; rc == 0 && i < d.n_member; i++, at += used)
        rc = read_member(self, self->at + d.begin + at, d.n_bytes - at, &used, err);
    if (rc < 0) zip_close(&self);
    return self;
}

void zip_close(zip_t **self_p)
{
    zip_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    for (size_t i = 0; i < self->member.n; i++) free((void *)(uintptr_t)self->member.at[i].name);
    VEC_FREE(&self->member);
    free(self);
    *self_p = NULL;
}

size_t zip_count(const zip_t *self)
{
    return self->member.n;
}

const zip_member_t *zip_at(const zip_t *self, size_t i)
{
    return &self->member.at[i];
}

const zip_member_t *zip_find(const zip_t *self, const char *name)
{
    for (size_t i = 0; i < self->member.n; i++)
        if (strcmp(self->member.at[i].name, name) == 0) return &self->member.at[i];
    return NULL;
}

/* --- contents --- */

enum { PIECE_BYTES = 1 << 30 }; /* zlib counts in unsigned int */

static unsigned piece(uint64_t left)
{
    return left < PIECE_BYTES ? (unsigned)left : PIECE_BYTES;
}

struct zip_stream {
    const zip_member_t *member;
    z_stream z;
    uint64_t n_read;
    uint32_t crc;
    bool ended; /* zlib has said so */
};

zip_stream_t *zip_stream_new(const zip_member_t *member, err_t *err)
{
    zip_stream_t *self = mem_calloc(1, sizeof *self);
    self->member = member;
    if (member->stored || inflateInit2(&self->z, -MAX_WBITS) == Z_OK) return self;
    err_set(err, ERR_IO, "zlib cannot be started: %s", self->z.msg ? self->z.msg : "no memory");
    free(self);
    return NULL;
}

void zip_stream_close(zip_stream_t **self_p)
{
    zip_stream_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    if (!self->member->stored) inflateEnd(&self->z);
    free(self);
    *self_p = NULL;
}

/* Into the room that the stream has; what zlib says. */
static int inflate_more(zip_stream_t *self)
{
    z_stream *z = &self->z;
    if (z->avail_in == 0) {
        z->next_in = (unsigned char *)(uintptr_t)(self->member->at + z->total_in);
        z->avail_in = piece(self->member->n_packed - z->total_in);
    }
    return inflate(z, Z_NO_FLUSH);
}

static bool inflate_next(zip_stream_t *self, unsigned char *to, size_t n)
{
    size_t done = 0;
    for (int rc = Z_OK; done < n && rc == Z_OK;) {
        unsigned room = piece(n - done);
        self->z.next_out = to + done;
        self->z.avail_out = room;
        rc = inflate_more(self);
        self->ended = rc == Z_STREAM_END;
        done += room - self->z.avail_out;
    }
    return done == n;
}

/* Behind a whole member one byte more is offered, in which nothing may be put: only then zlib says that
 * this is the end. */
static bool inflate_end(zip_stream_t *self)
{
    unsigned char beyond;
    self->z.next_out = &beyond;
    self->z.avail_out = 1;
    int rc = self->ended ? Z_STREAM_END : Z_OK;
    while (rc == Z_OK && self->z.avail_out == 1) rc = inflate_more(self);
    return rc == Z_STREAM_END && self->z.avail_out == 1;
}

int zip_stream_read(zip_stream_t *self, void *to, size_t n, err_t *err)
{
    const zip_member_t *m = self->member;
    if (n > m->n_bytes - self->n_read)
        return corrupt(err, m, "it is shorter than its content says");
    if (m->stored) memcpy(to, m->at + self->n_read, n);
    bool ok = m->stored || inflate_next(self, to, n);
    self->n_read += n;
    self->crc = (uint32_t)crc32_z(self->crc, to, n);
    bool last = self->n_read == m->n_bytes;
    if (ok && last && !m->stored) ok = inflate_end(self);
    if (!ok) return corrupt(err, m, "its packed bytes are damaged, or not as many as it says");
    return !last || self->crc == m->crc ? 0 : corrupt(err, m, "its CRC does not fit its bytes");
}

uint64_t zip_stream_packed(const zip_stream_t *self)
{
    return self->member->stored ? self->n_read : self->z.total_in;
}

int zip_read(const zip_member_t *self, void *to, size_t n, err_t *err)
{
    zip_stream_t *stream = zip_stream_new(self, err);
    int rc = stream ? zip_stream_read(stream, to, n, err) : -1;
    zip_stream_close(&stream);
    return rc;
}
