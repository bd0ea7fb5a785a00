/* Options as text: "name=value name=value", by the tables that flags of commands have. A new option is a row
 * there, and changes no interface here. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/mem.h"

static int set_word(const config_table_t *table, void *target, char *word, err_t *err)
{
    char *value = strchr(word, '=');
    if (!value) return err_set(err, ERR_ARG, "option \"%s\": expected NAME=VALUE", word);
    *value++ = '\0';
    return config_set(table, target, word, value, err);
}

int api_options(const config_table_t *table, void *target, const char *text, err_t *err)
{
    char *name = "options";
    if (config_load(table, target, NULL, 1, &name, NULL, err) < 0) return -1;
    if (!text) return 0;
    char *copy = mem_strdup(text), *rest = NULL;
    int status = 0;
    for (char *word = strtok_r(copy, " \t\n,", &rest); word && status == 0;
         word = strtok_r(NULL, " \t\n,", &rest))
        status = set_word(table, target, word, err);
    free(copy);
    return status;
}
