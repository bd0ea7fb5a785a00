/* From a path to a checkpoint. */
#include "ckpt/run_checkpoint.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

static bool has(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);
    bool there = file_exists(path);
    free(path);
    return there;
}

/* Where the run in `dir` writes its checkpoints. A directory that was moved has them in itself. */
static char *root_of(const char *dir)
{
    if (has(dir, "checkpoint")) return mem_printf("%s/checkpoint", dir);
    char *path = mem_printf("%s/run.json", dir);
    json_t *json = json_load_file(path, 0, NULL);
    const char *root = json_string_value(json_object_get(json, "checkpoint"));
    char *copy = root ? mem_strdup(root) : mem_printf("%s/checkpoint", dir);
    json_decref(json);
    free(path);
    return copy;
}

static bool is_run(const char *path)
{
    return !has(path, "manifest.json") && (has(path, "run.json") || has(path, "checkpoint"));
}

char *run_checkpoint_newest(const char *path)
{
    char *root = is_run(path) ? root_of(path) : mem_strdup(path);
    char *latest = mem_printf("%s/latest", root), *newest = realpath(latest, NULL);
    free(latest);
    free(root);
    return newest;
}

checkpoint_t *run_checkpoint_open(const char *path, err_t *err)
{
    if (!file_exists(path)) {
        err_set(err, ERR_IO, "%s: there is no such directory", path);
        return NULL;
    }
    if (!is_run(path)) return checkpoint_open(path, err);
    char *root = root_of(path);
    checkpoint_t *found = NULL;
    if (file_exists(root))
        found = checkpoint_open(root, err);
    else
        err_set(err, ERR_IO, "%s: the run has written no checkpoint yet (%s)", path, root);
    free(root);
    return found;
}
