/* --resume: the run's own options are the base, and few of them may change. */
#include "pcp/train_resume.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/corpus.h"
#include "pcp/train_dir.h"

/* pcp train's own that change no result, and where a run ends, which check_rounds looks at. */
static const char *const free_keys[] = {
    "rounds",       "threads", "tune",    "web",   "web_port",         "log_level",
    "prepare_only", "resume",  "run_dir", "track", "track_experiment", "track_token_file",
};

bool train_resume_is_free(const char *key)
{
    const train_option_t *option = train_option_find(key);
    if (option && !option->fixed) return true;
    for (size_t i = 0; i < sizeof free_keys / sizeof *free_keys; i++)
        if (strcmp(free_keys[i], key) == 0) return true;
    return false;
}

/* --- which directory --- */

static bool is_checkpoint(const char *path)
{
    static const char *const signs[] = {"manifest.json", "latest"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        char *sign = mem_printf("%s/%s", path, signs[i]);
        bool there = file_exists(sign);
        free(sign);
        if (there) return true;
    }
    return false;
}

static bool same_place(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int find_latest(const train_config_t *c, train_resume_t *out, err_t *err)
{
    if (!c->run_dir) {
        out->dir = train_dir_newest(c->model, err);
        out->searched = true;
        return out->dir ? 0 : -1;
    }
    if (!train_dir_is_ours(c->run_dir))
        return err_set(err, ERR_ARG,
                       "--run-dir %s: pcp train has begun no run there: leave --resume out to "
                       "begin one",
                       c->run_dir);
    out->dir = mem_strdup(c->run_dir);
    return 0;
}

static int find_dir(const train_config_t *c, train_resume_t *out, err_t *err)
{
    const char *path = c->resume;
    if (strcmp(path, "latest") == 0) return find_latest(c, out, err);
    if (train_dir_is_ours(path)) {
        if (c->run_dir && !same_place(c->run_dir, path))
            return err_set(err, ERR_ARG,
                           "--resume %s and --run-dir %s are two directories: leave one out", path,
                           c->run_dir);
        out->dir = mem_strdup(path);
        return 0;
    }
    if (!is_checkpoint(path))
        return err_set(err, ERR_ARG,
                       "--resume %s: neither a run's directory (" TRAIN_EXPERIMENT
                       ") nor a checkpoint (manifest.json)",
                       path);
    if (c->run_dir && train_dir_is_ours(c->run_dir)) out->dir = mem_strdup(c->run_dir);
    return 0;
}

/* --- which options --- */

/* "--inner-steps 5: ..." */
static int refuse(const char *dir, const char *key, const char *given, const char *own, err_t *err)
{
    char *flag = mem_strdup(key);
    for (char *p = flag; *p; p++)
        if (*p == '_') *p = '-';
    err_set(err, ERR_ARG,
            "--%s %s: the run in %s has %s; leave it out, or give another --run-dir to begin a new "
            "run",
            flag, given, dir, own);
    free(flag);
    return -1;
}

static char *word_of(const json_t *value)
{
    if (json_is_string(value)) return mem_strdup(json_string_value(value));
    if (json_is_real(value)) return mem_printf("%.15g", json_real_value(value));
    if (json_is_null(value)) return mem_strdup("none");
    return json_dumps(value, JSON_ENCODE_ANY);
}

static int compare(const train_config_t *own, const train_config_t *given, const char *dir,
                   err_t *err)
{
    char *a = config_print(&train_config_table, own, false),
         *b = config_print(&train_config_table, given, false);
    json_t *had = json_loads(a, 0, NULL), *has = json_loads(b, 0, NULL);
    const char *key;
    json_t *value;
    int rc = 0;
    json_object_foreach(had, key, value)
    {
        const json_t *now = json_object_get(has, key);
        if (train_resume_is_free(key) || json_equal(value, now)) continue;
        char *x = word_of(now), *y = word_of(value);
        rc = refuse(dir, key, x, y, err);
        free(x);
        free(y);
        break;
    }
    json_decref(had);
    json_decref(has);
    free(a);
    free(b);
    return rc;
}

/* The words may be another path to the same file. */
static void take_own_path(char **given, const char *own)
{
    char *whole = corpus_absolute(*given, train_dir_absolute);
    bool same = whole && own && (strcmp(whole, own) == 0 || same_place(whole, own));
    free(whole);
    if (!same) return;
    free(*given);
    *given = mem_strdup(own);
}

/* The run trains its own copy of the model. */
static int check_model(const char *dir, bool named, train_config_t *given, const char *own,
                       err_t *err)
{
    char *copy = mem_printf("%s/model.mlir", dir);
    int rc = 0;
    if (named && file_exists(given->model) && !train_dir_same(given->model, copy))
        rc = err_set(err, ERR_ARG, "%s is another model than that of the run in %s (%s)",
                     given->model, dir, copy);
    free(copy);
    if (rc == 0 && own && given->model) {
        free(given->model);
        given->model = mem_strdup(own);
    }
    return rc;
}

static int check_rounds(const train_config_t *own, const train_config_t *given,
                        train_resume_t *resume, err_t *err)
{
    resume->rounds = own->rounds;
    if (given->rounds < own->rounds)
        return err_set(err, ERR_ARG, "--rounds %lld: the run in %s has %lld; it can be longer only",
                       (long long)given->rounds, resume->dir, (long long)own->rounds);
    if (given->rounds == own->rounds) return 0;
    bool follows = strcmp(given->schedule, "constant") != 0;
    resume->text = mem_printf(
        "%lld rounds instead of %lld%s", (long long)given->rounds, (long long)own->rounds,
        follows ? "; the learning rate follows its schedule over all of them" : "");
    return 0;
}

static int check_options(train_config_t *own, train_config_t *given, bool model_named,
                         train_resume_t *resume, err_t *err)
{
    take_own_path(&given->data, own->data);
    take_own_path(&given->init, own->init);
    take_own_path(&given->checkpoint, own->checkpoint);
    if (given->replicas == 0) given->replicas = own->replicas;
    if (given->max_replicas == 0) given->max_replicas = own->max_replicas;
    if (check_model(resume->dir, model_named, given, own->model, err) < 0 ||
        compare(own, given, resume->dir, err) < 0)
        return -1;
    return check_rounds(own, given, resume, err);
}

/* --- both --- */

static void set_text(char **field, const char *text)
{
    char *copy = mem_strdup(text);
    free(*field);
    *field = copy;
}

/* Read everything again, over what the run was begun with. */
static int load_over(train_config_t *config, train_resume_t *resume, const char *file,
                     const char *model, int argc, char **argv, err_t *err)
{
    train_config_t own = {0};
    config_args_t args = {0};
    char *base = mem_printf("%s/" TRAIN_EXPERIMENT, resume->dir), *names[] = {argv[0], NULL};
    config_table_t over = train_config_table, alone = train_config_table;
    over.base = base;
    alone.no_env = true;
    char *from = config->resume;
    config->resume = NULL;
    int rc = config_load(&alone, &own, base, 1, names, NULL, err);
    config_fini(&train_config_table, config);
    if (rc == 0) rc = config_load(&over, config, file, argc, argv, &args, err);
    if (rc == 0 && model) set_text(&config->model, model);
    bool named = rc == 0 && config->model && own.model && strcmp(config->model, own.model) != 0;
    if (rc == 0) rc = check_options(&own, config, named || model, resume, err);
    if (rc == 0) {
        set_text(&config->run_dir, resume->dir);
        set_text(&config->resume, is_checkpoint(from) ? from : "latest");
    }
    config_args_fini(&args);
    config_fini(&train_config_table, &own);
    free(base);
    free(from);
    return rc;
}

int train_resume_load(train_config_t *config, train_resume_t *resume, int argc, char **argv,
                      config_args_t *args, err_t *err)
{
    const char *operand = argc > 1 ? argv[1] : "";
    const char *file = str_ends(operand, ".json") ? operand : NULL;
    if (config_load(&train_config_table, config, file, argc, argv, args, err) < 0) return -1;
    if (args->asks) return 0;
    if (args->n_operands > 1 || (args->n_operands == 1 && args->operands[0] != operand))
        return err_set(err, ERR_ARG, "one operand, before the flags: CONFIG.json or MODEL.mlir");
    const char *model = args->n_operands == 1 && !file ? operand : NULL;
    if (model) set_text(&config->model, model);
    if (!config->resume || !*config->resume) return 0;
    if (find_dir(config, resume, err) < 0) return -1;
    if (!resume->dir) return 0;
    return load_over(config, resume, file, model, argc, argv, err);
}

void train_resume_fini(train_resume_t *self)
{
    free(self->dir);
    free(self->text);
    *self = (train_resume_t){0};
}
