/* Spelling of element types in safetensors files. Pure functions. */
#ifndef CKPT_SAFETENSORS_DTYPE_H
#define CKPT_SAFETENSORS_DTYPE_H

#include "ir/dtype.h"

dtype_t safetensors_dtype_parse(const char *text); /* "F32" -> DT_F32; DT_NONE if unknown */
const char *safetensors_dtype_name(dtype_t dtype); /* NULL: the format has no such type */

#endif
