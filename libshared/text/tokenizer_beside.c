/* Files that lie beside a published tokenizer.json and say how to speak with the model: they travel in its JSON, as
 * texts, so that what comes of a run has them, and goes out again with the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "text/tokenizer_kinds.h"

static const char MEMBER[] = "pcp.beside";
static const char *const names[] = {TOKENIZER_CONFIG, TOKENIZER_CHAT};
enum { NAMES = sizeof names / sizeof *names };

char *beside_read(const char *path, size_t *n, err_t *err)
{
    int64_t size = file_size(path);
    if (size <= TOKENIZER_MAX_BYTES) return file_read(path, n, err);
    err_set(err, ERR_MEMORY, "%s: a tokenizer's file of %lld bytes, at most %d", path,
            (long long)size, TOKENIZER_MAX_BYTES);
    return NULL;
}

/* --- in --- */

static int take(json_t *beside, const char *dir, const char *name, err_t *err)
{
    char *path = mem_printf("%s%s", dir, name);
    size_t n = 0;
    int status = 0;
    if (file_exists(path)) {
        char *text = beside_read(path, &n, err);
        json_t *value = text && !memchr(text, 0, n) ? json_stringn(text, n) : NULL;
        if (value)
            json_object_set_new(beside, name, value);
        else
            status = text ? err_set(err, ERR_PARSE, "%s is no UTF-8 text", path) : -1;
        free(text);
    }
    free(path);
    return status;
}

int beside_take(json_t *tokenizer, const char *dir, err_t *err)
{
    if (json_object_get(tokenizer, MEMBER)) return 0;
    json_t *beside = json_object();
    int status = 0;
    for (size_t i = 0; status == 0 && i < NAMES; i++) status = take(beside, dir, names[i], err);
    if (status == 0 && json_object_size(beside) > 0) json_object_set(tokenizer, MEMBER, beside);
    json_decref(beside);
    return status;
}

static bool is_ours(const char *name)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

json_t *beside_find(const json_t *tokenizer, err_t *err)
{
    json_t *beside = json_object_get(tokenizer, MEMBER), *text;
    const char *name;
    if (!beside) return NULL;
    bool good = json_is_object(beside);
    json_object_foreach(beside, name, text) good = good && is_ours(name) && json_is_string(text);
    if (good) return json_incref(beside);
    err_set(err, ERR_PARSE, "tokenizer.json: %s is no object of %s and %s, as texts", MEMBER,
            TOKENIZER_CONFIG, TOKENIZER_CHAT);
    return NULL;
}

const char *tokenizer_beside(const tokenizer_t *self, const char *name)
{
    return json_string_value(json_object_get(self->beside, name));
}

/* --- out --- */

static int put(const char *dir, const char *name, const char *text, size_t n, err_t *err)
{
    char *path = mem_printf("%s/%s", dir, name);
    int status = file_write_atomic(path, text, n, err);
    free(path);
    return status;
}

static int put_all(json_t *json, const char *dir, err_t *err)
{
    err_t why = {0};
    json_t *beside = beside_find(json, &why), *one;
    const char *name;
    if (why.code != ERR_OK) return err_set(err, why.code, "%s", why.text);
    json_object_del(json, MEMBER);
    char *text = json_dumps(json, JSON_COMPACT);
    int status = put(dir, "tokenizer.json", text, strlen(text), err);
    json_object_foreach(beside, name, one)
    {
        if (status == 0)
            status = put(dir, name, json_string_value(one), json_string_length(one), err);
    }
    free(text);
    json_decref(beside);
    return status;
}

int tokenizer_publish(const char *printed, const char *dir, err_t *err)
{
    json_t *json = tokenizer_json(printed, strlen(printed), err);
    if (!json) return -1;
    int status = json_object_get(json, "model") ? put_all(json, dir, err) : 0;
    json_decref(json);
    return status;
}
