/* Inside of api/: what tokenizers and generators share. */
#ifndef API_TEXT_H
#define API_TEXT_H

#include "api/api.h"

struct pcp_tokenizer {
    tokenizer_t *inner;
};

#endif
