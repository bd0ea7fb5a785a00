/* Members of a zip archive, as NumPy's .npz is one: stored or deflated (APPNOTE.TXT of PKWARE, with
 * ZIP64). Nothing in it is trusted: places, sizes and names are checked against the file, what is
 * unpacked against the size and the CRC-32 that the directory says, and no size may be more than
 * deflate can make of so few bytes. Encrypted and split archives are refused. */
#ifndef DATA_ZIP_H
#define DATA_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct {
    const char *name;  /* as written, without NUL inside */
    const uint8_t *at; /* its n_packed bytes in the archive */
    uint64_t n_packed;
    uint64_t n_bytes; /* unpacked */
    uint32_t crc;
    bool stored; /* at[] is the content */
} zip_member_t;

typedef struct zip zip_t;

/* The directory of the archive in bytes[n], which are borrowed until the end. ERR_PARSE: no archive;
 * ERR_CORRUPT names the member and what is wrong; ERR_UNSUPPORTED: another method, encryption. */
zip_t *zip_view(const void *bytes, size_t n, err_t *err);
void zip_close(zip_t **self_p);

size_t zip_count(const zip_t *self);
const zip_member_t *zip_at(const zip_t *self, size_t i);
const zip_member_t *zip_find(const zip_t *self, const char *name); /* or NULL */

/* The first n bytes of the member, n <= n_bytes, into to[n]. With n == n_bytes they must be all, and
 * have the CRC. ERR_CORRUPT; to[] is unspecified then. */
int zip_read(const zip_member_t *self, void *to, size_t n, err_t *err);

/* The same piece by piece: each call has the next n bytes, the last one is checked as above. The member and
 * its archive are borrowed. */
typedef struct zip_stream zip_stream_t;
zip_stream_t *zip_stream_new(const zip_member_t *member, err_t *err);
void zip_stream_close(zip_stream_t **self_p);
int zip_stream_read(zip_stream_t *self, void *to, size_t n, err_t *err);
/* Bytes of the archive that are not needed any more, from the member's first on. */
uint64_t zip_stream_packed(const zip_stream_t *self);

#endif
