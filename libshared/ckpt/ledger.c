/* ledger.json: print and parse. */
#include "ckpt/ledger.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { VERSION = 1 };

/* JSON integers are signed; the store's are, too. */
static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *range_json(const data_range_t *range)
{
    json_t *list = json_array();
    json_array_append_new(list, whole(range->epoch));
    json_array_append_new(list, whole(range->start));
    json_array_append_new(list, whole(range->count));
    return list;
}

char *ledger_print(const ledger_t *self)
{
    json_t *top = json_object(), *returned = json_array(), *states = json_array();
    json_object_set_new(top, "format", json_string("pcp-ledger"));
    json_object_set_new(top, "version", json_integer(VERSION));
    json_object_set_new(top, "run", json_string(self->run));
    json_object_set_new(top, "round", whole(self->round));
    json_object_set_new(top, "tokens", whole(self->tokens));
    json_object_set_new(top, "windows", whole(self->n_windows));
    json_object_set_new(top, "seed", whole(self->seed));
    json_object_set_new(top, "cursor", range_json(&self->cursor));
    for (size_t i = 0; i < self->n_returned; i++)
        json_array_append_new(returned, range_json(&self->returned[i]));
    for (size_t i = 0; i < self->n_state; i++)
        json_array_append_new(states, json_string(self->state[i]));
    json_object_set_new(top, "returned", returned);
    json_object_set_new(top, "states", states);
    char *text = json_dumps(top, JSON_INDENT(2));
    json_decref(top);
    return text;
}

static int take_whole(const json_t *top, const char *key, uint64_t *out, err_t *err)
{
    const json_t *value = json_object_get(top, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return err_set(err, ERR_CORRUPT, "ledger: \"%s\" is no whole number", key);
    *out = (uint64_t)json_integer_value(value);
    return 0;
}

static int take_range(const json_t *list, const char *key, data_range_t *out, err_t *err)
{
    uint64_t part[3];
    for (size_t i = 0; i < 3; i++) {
        const json_t *value = json_array_get(list, i);
        if (json_array_size(list) != 3 || !json_is_integer(value) || json_integer_value(value) < 0)
            return err_set(err, ERR_CORRUPT, "ledger: \"%s\" is no [epoch, start, count]", key);
        part[i] = (uint64_t)json_integer_value(value);
    }
    *out = (data_range_t){part[0], part[1], part[2]};
    return 0;
}

static int take_returned(const json_t *top, ledger_t *out, err_t *err)
{
    const json_t *list = json_object_get(top, "returned");
    if (!json_is_array(list) || json_array_size(list) > LEDGER_RANGES)
        return err_set(err, ERR_CORRUPT, "ledger: \"returned\" is no list, or too long");
    out->n_returned = json_array_size(list);
    out->returned = mem_calloc(out->n_returned + 1, sizeof *out->returned);
    for (size_t i = 0; i < out->n_returned; i++)
        if (take_range(json_array_get(list, i), "returned", &out->returned[i], err) < 0) return -1;
    return 0;
}

static int take_states(const json_t *top, ledger_t *out, err_t *err)
{
    const json_t *list = json_object_get(top, "states");
    if (!json_is_array(list) || json_array_size(list) > LEDGER_REPLICAS)
        return err_set(err, ERR_CORRUPT, "ledger: \"states\" is no list, or too long");
    out->n_state = json_array_size(list);
    out->state = mem_calloc(out->n_state + 1, sizeof *out->state);
    for (size_t i = 0; i < out->n_state; i++) {
        const char *state = json_string_value(json_array_get(list, i));
        size_t n = state ? strlen(state) : 1;
        if (n != 0 && (n != HASH_HEX - 1 || strspn(state, "0123456789abcdef") != n))
            return err_set(err, ERR_CORRUPT, "ledger: the state of replica %zu is no hash", i);
        memcpy(out->state[i], state, n + 1);
    }
    return 0;
}

static int take_all(const json_t *top, ledger_t *out, err_t *err)
{
    const char *format = json_string_value(json_object_get(top, "format"));
    const char *run = json_string_value(json_object_get(top, "run"));
    uint64_t version;
    if (!format || strcmp(format, "pcp-ledger") != 0)
        return err_set(err, ERR_CORRUPT, "ledger: \"format\" is not pcp-ledger");
    if (take_whole(top, "version", &version, err) < 0) return -1;
    if (version != VERSION)
        return err_set(err, ERR_UNSUPPORTED, "ledger: version %llu; this program reads %d",
                       (unsigned long long)version, VERSION);
    if (!run) return err_set(err, ERR_CORRUPT, "ledger: \"run\" is missing");
    out->run = mem_strdup(run);
    if (take_whole(top, "round", &out->round, err) < 0 ||
        take_whole(top, "tokens", &out->tokens, err) < 0 ||
        take_whole(top, "windows", &out->n_windows, err) < 0 ||
        take_whole(top, "seed", &out->seed, err) < 0 ||
        take_range(json_object_get(top, "cursor"), "cursor", &out->cursor, err) < 0 ||
        take_returned(top, out, err) < 0)
        return -1;
    return take_states(top, out, err);
}

int ledger_parse(const char *text, size_t n, ledger_t *out, err_t *err)
{
    json_error_t at;
    json_t *top = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
    ledger_t made = {0};
    int rc = json_is_object(top) ? take_all(top, &made, err)
                                 : err_set(err, ERR_CORRUPT, "ledger:%d:%d: %s", at.line, at.column,
                                           top ? "the top is no object" : at.text);
    json_decref(top);
    if (rc < 0)
        ledger_fini(&made);
    else
        *out = made;
    return rc;
}

void ledger_fini(ledger_t *self)
{
    free(self->run);
    free(self->returned);
    free(self->state);
    *self = (ledger_t){0};
}

void ledger_state_name(size_t replica, char name[32])
{
    snprintf(name, 32, "replica-%04zu.state", replica);
}
