/* Measured choices of how products are computed: a table from a product's sizes and strides to the
 * way that was fastest on one machine (tools/tuning.h measures). A plan depends on the table it
 * is made with, never on the machine that makes it: equal tables, equal plans. Not shared between
 * threads while it is filled; read-only after. */
#ifndef PLAN_TUNE_H
#define PLAN_TUNE_H

#include "base/hash.h"
#include "base/str.h"
#include "plan/kernel/tiles.h"

typedef struct tune tune_t;

tune_t *tune_new(void);
void tune_destroy(tune_t **self_p);

/* The choice for a step of these sizes and strides (offsets are not looked at); false: none. */
bool tune_find(const tune_t *self, const plan_gemm_step_t *step, tile_choice_t *choice);
void tune_set(tune_t *self, const plan_gemm_step_t *step, const tile_choice_t *choice);
int tune_count(const tune_t *self);

/* One line for each product, sorted, so that equal tables are equal texts. */
void tune_print(const tune_t *self, str_t *out);
/* Lines that start with # are skipped. NULL: ERR_PARSE names the line. Returns, caller destroys. */
tune_t *tune_parse(const char *text, err_t *err);
/* Of the text: the part of a plan's identity that the table is. "" for NULL. */
void tune_hash(const tune_t *self, char hex[HASH_HEX]);

#endif
