/* What a codec leaves out of the pseudo-gradient that a lease hands in (error feedback: outer/codec.h). Pure. */
#ifndef WORKER_DELTA_H
#define WORKER_DELTA_H

#include "base/hash.h"
#include "outer/codec.h"
#include "proto/control.pb-c.h"

/* What the codec leaves out of a pseudo-gradient's n values, encoded in the chunks in which they go to
 * the lease's shards, whose bounds are good and end at n: as long. Returns, caller frees; NULL with
 * ERR_NUMERIC: a value is not finite. */
float *delta_error(const codec_t *codec, const Msg__Lease *lease, const float *values, size_t n,
                   err_t *err);

/* The digest of a pseudo-gradient as LEASE_DONE of an audit tells it: of what its shards' digests would be
 * (INSPECTED). values, bounds: as above. ERR_NUMERIC: a value is not finite. */
int delta_digest(const codec_t *codec, const Msg__Lease *lease, const float *values,
                 char digest[HASH_HEX], err_t *err);

#endif
