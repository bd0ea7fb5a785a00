/* The pseudo-gradient that a lease hands in, and what its codec leaves out of it (error feedback:
 * outer/codec.h). Pure. */
#ifndef WORKER_DELTA_H
#define WORKER_DELTA_H

#include "outer/codec.h"
#include "proto/control.pb-c.h"

/* values[n], by how much the parameters fell, get the codec's share of `error` where it has feedback
 * (else `error` is not read). */
void delta_make(const codec_t *codec, const float *error, float *values, size_t n);

/* What the codec leaves out of the n values of delta_make, encoded in the chunks in which they go to
 * the lease's shards, whose bounds are good and end at n: as long. Returns, caller frees; NULL with
 * ERR_NUMERIC: a value is not finite. */
float *delta_error(const codec_t *codec, const Msg__Lease *lease, const float *values, size_t n,
                   err_t *err);

#endif
