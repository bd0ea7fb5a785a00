/* Models of the configuration and of members, and templates of chats. */
#include <stdlib.h>
#include <string.h>

#include "gateway/gateway.h"

/* By its word, or of a file. */
static const chat_template_t *find_template(gateway_t *self, const char *word, err_t *err)
{
    const chat_template_t *found = chat_find(word);
    if (found || (!strchr(word, '/') && !strchr(word, '.'))) return found;
    chat_template_t *opened = chat_open(word, err);
    if (!opened) return NULL;
    size_t bytes = (self->n_opened + 1) * sizeof *self->opened;
    self->opened = mem_realloc(self->opened, bytes);
    return self->opened[self->n_opened++] = opened;
}

/* Is a template of this option for the model? "NAME=..." is of one, without a name of all. */
static bool is_named(const char *text, const char *name)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    return !equals || (strlen(name) == n && memcmp(name, text, n) == 0);
}

static void give_template(const gateway_t *self, served_t *served)
{
    for (size_t i = 0; i < self->n_given; i++)
        if (is_named(self->given[i].text, served->name)) served->given = self->given[i].chat;
}

/* WORD or PATH, of all models, or NAME=that. */
static int set_template(gateway_t *self, const char *text, err_t *err)
{
    const char *equals = strchr(text, '='), *word = equals ? equals + 1 : text;
    const chat_template_t *found = find_template(self, word, err);
    size_t n_set = 0;
    if (!found && err->code != ERR_OK) {
        err_about(err, word);
        return err_prefix(err, "--chat-template: ");
    }
    if (!found)
        return err_set(err, ERR_ARG,
                       "--chat-template %s: known are %s, and a model's tokenizer_config.json or "
                       "chat_template.jinja by its path",
                       text, chat_names());
    for (size_t i = 0; i < self->n_served; i++) n_set += is_named(text, self->served[i]->name);
    if (n_set == 0 && !self->members_wanted)
        return err_set(err, ERR_ARG, "--chat-template %s: there is no such --model", text);
    self->given = mem_realloc(self->given, (self->n_given + 1) * sizeof *self->given);
    self->given[self->n_given++] = (given_template_t){mem_strdup(text), found};
    for (size_t i = 0; i < self->n_served; i++) give_template(self, self->served[i]);
    return 0;
}

static served_t *push(gateway_t *self)
{
    served_t *served = mem_calloc(1, sizeof *served);
    self->served = mem_realloc(self->served, (self->n_served + 1) * sizeof *self->served);
    return self->served[self->n_served++] = served;
}

static int add_model(gateway_t *self, const char *text, err_t *err)
{
    served_t parsed = {0};
    if (served_init(&parsed, text, err) < 0) return -1;
    bool twice = gateway_find(self, parsed.name, false) != NULL;
    served_fini(&parsed);
    if (twice) return err_set(err, ERR_ARG, "--model %s: the name is there twice", text);
    self->n_own++;
    return served_init(push(self), text, err);
}

/* One of members that nobody uses any more; NULL: there is none. */
static served_t *find_unused(const gateway_t *self)
{
    for (size_t i = self->n_own; i < self->n_served; i++) {
        served_t *one = self->served[i];
        if (!one->route.hosts && one->open == 0) return one;
    }
    return NULL;
}

served_t *gateway_find(gateway_t *self, const char *name, bool make)
{
    for (size_t i = 0; i < self->n_served; i++)
        if (strcmp(self->served[i]->name, name) == 0) return self->served[i];
    if (!make) return NULL;
    bool full = self->n_served - self->n_own >= MEMBERS_NAMES;
    served_t *served = full ? find_unused(self) : push(self);
    if (!served) return NULL;
    if (full) stats_forget_model(self->stats, served->name); /* there may be no end of names */
    if (full) served_fini(served);
    served_init_named(served, name);
    give_template(self, served);
    return served;
}

/* Each of a list with commas. */
static int each(gateway_t *self, const char *list,
                int (*fn)(gateway_t *self, const char *text, err_t *err), err_t *err)
{
    char *copy = mem_strdup(list ? list : ""), *next = copy;
    int status = 0;
    for (char *one; status == 0 && (one = strsep(&next, ","));)
        if (*one) status = fn(self, one, err);
    free(copy);
    return status;
}

int gateway_init(gateway_t *self, const gateway_config_t *config, err_t *err)
{
    *self = (gateway_t){.config = config, .stats = stats_new()};
    self->members_wanted = config->members != NULL;
    if (each(self, config->model, add_model, err) < 0) return -1;
    if (self->n_served == 0 && !self->members_wanted)
        return err_set(err, ERR_ARG, "no --model NAME=DIR is given, nor --members (try --help)");
    if (each(self, config->chat_template, set_template, err) < 0) return -1;
    if (config->tokens && !(self->access = access_open(config->tokens, err)))
        return err_prefix(err, "--tokens: ");
    return 0;
}

void gateway_fini(gateway_t *self)
{
    for (size_t i = 0; i < self->n_served; i++) {
        served_fini(self->served[i]);
        free(self->served[i]);
    }
    for (size_t i = 0; i < self->n_given; i++) free(self->given[i].text);
    free(self->given);
    free(self->served);
    for (size_t i = 0; i < self->n_opened; i++) chat_destroy(&self->opened[i]);
    free(self->opened);
    access_destroy(&self->access);
    stats_destroy(&self->stats);
}
