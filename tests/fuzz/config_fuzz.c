/* Fuzz target: a configuration file that loads is within its ranges and prints to a file that loads
 * to the same; the same for training specs. */
#include "base/config.h"
#include "optim/optim.h"

#include "fuzz.h"

typedef struct {
    bool flag;
    int64_t steps;
    double lr;
    char *name, *secret, *kind;
} config_target_t;

#define FIELD(name, kind, fallback, min, max, words, secret)                                 \
    {                                                                                        \
#name, kind, offsetof(config_target_t, name), fallback, "-", min, max, words, secret \
    }
static const config_field_t config_fields[] = {
    FIELD(flag, CONFIG_BOOL, "false", 0, 0, NULL, false),
    FIELD(steps, CONFIG_INT, "7", -5, 1e6, NULL, false),
    FIELD(lr, CONFIG_FLOAT, "0.5", 0, 1, NULL, false),
    FIELD(name, CONFIG_STRING, NULL, 0, 0, NULL, false),
    FIELD(secret, CONFIG_STRING, "s", 0, 0, NULL, true),
    FIELD(kind, CONFIG_ENUM, "one", 0, 0, "one|two", false),
};
#undef FIELD
static const config_table_t config_table = {
    .usage = "fuzz",
    .fields = config_fields,
    .n_fields = sizeof config_fields / sizeof *config_fields,
    .no_env = true,
};

/* The printed configuration, or NULL when it does not load. Caller frees. */
static char *config_text(const uint8_t *data, size_t n, err_t *err)
{
    char path[32], *text = NULL;
    char *argv[] = {"fuzz", NULL};
    config_target_t target = {0};
    config_args_t args = {0};
    int fd = fuzz_file(data, n, path);
    if (config_load(&config_table, &target, path, 1, argv, &args, err) == 0) {
        if (target.steps < -5 || target.steps > 1000000) broken("steps", "out of range");
        if (!(target.lr >= 0 && target.lr <= 1)) broken("lr", "out of range");
        if (!target.secret) broken("secret", "has a default, and is NULL");
        if (!target.kind || (strcmp(target.kind, "one") && strcmp(target.kind, "two")))
            broken("kind", "neither one nor two");
        text = config_print(&config_table, &target, false);
    }
    config_args_fini(&args);
    config_fini(&config_table, &target);
    close(fd);
    return text;
}

static void config_spec(const char *json)
{
    train_spec_t spec;
    err_t err = {0};
    if (train_spec_parse(json, &spec, &err) < 0) {
        if (err.code == ERR_OK) broken("an error says so", json);
        return;
    }
    char *first = train_spec_print(&spec);
    if (train_spec_parse(first, &spec, &err) < 0) broken(first, err.text);
    char *second = train_spec_print(&spec);
    if (strcmp(first, second) != 0) broken(first, second);
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err_t err = {0};
    char *first = config_text(data, n, &err);
    if (!first && err.code == ERR_OK) broken("an error says so", "");
    if (first) {
        char *second = config_text((const uint8_t *)first, strlen(first), &err);
        if (!second) broken(first, err.text);
        if (strcmp(first, second) != 0) broken(first, second);
        free(second);
    }
    free(first);
    char *json = malloc(n + 1);
    memcpy(json, data, n);
    json[n] = 0;
    config_spec(json);
    free(json);
    return 0;
}
