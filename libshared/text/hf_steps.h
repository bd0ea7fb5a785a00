/* The steps around the model in a tokenizer.json. Internal to text/. */
#ifndef TEXT_HF_STEPS_H
#define TEXT_HF_STEPS_H

#include "text/byte_level.h"

/* Fill normalizer, words, before and behind of `out`, whose tokens are there. ERR_UNSUPPORTED names
 * a step that is not known, ERR_PARSE one that is wrong. */
#define HF_BLANK "\xE2\x96\x81" /* U+2581, for the blank where words are of characters */
int hf_read_steps(const json_t *tokenizer, byte_level_t *out, err_t *err);

#endif
