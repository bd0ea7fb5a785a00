/* Reading keys of a config.json. A missing key, or null, is its fallback. Internal to model/. */
#ifndef MODEL_FAMILY_JSON_H
#define MODEL_FAMILY_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "ir/build.h"
#include "model/family.h"

const char *family_text(const json_t *config, const char *key, const char *fallback);
double family_number(const json_t *config, const char *key, double fallback);
bool family_true(const json_t *config, const char *key, bool fallback);

/* From 1 to 2^24. ERR_PARSE. */
int family_int(const json_t *config, const char *key, int fallback, int *out, err_t *err);

/* The context to build for, of a model that knows `positions`. ERR_ARG: the run wants more. */
int family_block(const family_run_t *run, int positions, int *block, err_t *err);

int family_unknown(const char *key, const char *value, err_t *err);

/* Put the description (taken) into the module, which may be NULL. Returns the module. */
ir_module_t *family_carry(ir_module_t *module, json_t *config);

#endif
