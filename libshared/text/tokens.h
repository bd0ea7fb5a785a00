/* A growing list of tokens. */
#ifndef TEXT_TOKENS_H
#define TEXT_TOKENS_H

#include <stdint.h>

#include "base/vec.h"

typedef VEC(uint32_t) tokens_t;

#endif
