/* Keys of a config.json. */
#include "model/family_json.h"

#include <stdlib.h>

const char *family_text(const json_t *config, const char *key, const char *fallback)
{
    const char *text = json_string_value(json_object_get(config, key));
    return text ? text : fallback;
}

double family_number(const json_t *config, const char *key, double fallback)
{
    const json_t *value = json_object_get(config, key);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

bool family_true(const json_t *config, const char *key, bool fallback)
{
    const json_t *value = json_object_get(config, key);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

int family_int(const json_t *config, const char *key, int fallback, int *out, err_t *err)
{
    const json_t *value = json_object_get(config, key);
    *out = fallback;
    if (!value || json_is_null(value)) return 0;
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 1 || n > 1 << 24)
        return err_set(err, ERR_PARSE, "config.json: %s is %lld, must be 1 to %d", key,
                       (long long)n, 1 << 24);
    *out = (int)n;
    return 0;
}

int family_block(const family_run_t *run, int positions, int *block, err_t *err)
{
    if (run->block > positions)
        return err_set(err, ERR_ARG, "a context of %lld tokens: the model knows %d positions",
                       (long long)run->block, positions);
    *block = positions < FAMILY_BLOCK ? positions : FAMILY_BLOCK;
    if (run->block > 0) *block = (int)run->block;
    return 0;
}

int family_unknown(const char *key, const char *value, err_t *err)
{
    return err_set(err, ERR_UNSUPPORTED, "config.json: %s \"%.40s\" is not known", key, value);
}

ir_module_t *family_carry(ir_module_t *module, json_t *config)
{
    char *text = module ? json_dumps(config, JSON_COMPACT) : NULL;
    if (module) attr_set_text(module->arena, &module->attrs, FAMILY_CONFIG, ATTR_STRING, text);
    free(text);
    json_decref(config);
    return module;
}
