/* Fuzz target: a config.json that builds gives a valid module, which says what it is, and what it
 * says builds the same one. */
#include <jansson.h>

#include "ir/print.h"
#include "model/family.h"

#include "fuzz.h"

/* Deep ones are built like shallow ones, and take their time. */
static bool family_is_deep(const char *text)
{
    json_t *config = json_loads(text, 0, NULL);
    json_int_t gpt2 = json_integer_value(json_object_get(config, "n_layer"));
    json_int_t llama = json_integer_value(json_object_get(config, "num_hidden_layers"));
    json_decref(config);
    return gpt2 > 3 || llama > 3 || (gpt2 == 0 && llama == 0);
}

/* The module's text; *config: what it says of itself, which is freed by the caller, too. */
static char *family_text_of(const char *text, char **config, err_t *err)
{
    const family_run_t run = {.batch = 1};
    ir_module_t *module = family_build(text, &run, err);
    char names[FAMILY_NAMES][FAMILY_NAME_BYTES];
    if (!module) return NULL;
    if (ir_verify(module, err) < 0) broken("a module is valid", err->text);
    if (!family_config(module) ||
        family_names(family_config(module), "model.norm.weight", names) < 1)
        broken("it says of which family it is", "");
    str_t out = {0};
    *config = strdup(family_config(module));
    ir_print_module(module, &out);
    ir_module_destroy(&module);
    return out.at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err_t err = {0};
    char *text = malloc(n + 1), *config = NULL, *again = NULL;
    memcpy(text, data, n);
    text[n] = 0;
    char *first = family_is_deep(text) ? NULL : family_text_of(text, &config, &err);
    char *second = first ? family_text_of(config, &again, &err) : NULL;
    if (first && (!second || strcmp(first, second) != 0))
        broken("what it says builds it again", err.text);
    free(first);
    free(second);
    free(config);
    free(again);
    free(text);
    return 0;
}
