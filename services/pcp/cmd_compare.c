/* pcp compare: the same training steps on several targets, side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/scratch.h"
#include "data/feed.h"
#include "pcp/cmd.h"
#include "pcp/compare_print.h"
#include "pcp/model_info.h"
#include "pcp/output.h"
#include "pcp/progress.h"
#include "pcp/train_material.h"
#include "pcp/train_records.h"

enum { MAX_SIDES = 16 };

typedef struct {
    char *targets, *data, *field, *messages, *tokenizer;
    int64_t steps, threads, vocab, every, memory_limit;
    double max_deviation, max_drift;
    char *output;
    bool json, constants_as_params;
    char *entry, *role, *roles, *freeze, *group, *lora, *shape;
    int64_t loss_result;
    TRAIN_LAYOUT_ROW(OPTION_MEMBER, )
    TRAIN_SEED_ROW(OPTION_MEMBER, )
    TRAIN_LR_ROW(OPTION_MEMBER, )
    TRAIN_SPEC_OPTIONS(OPTION_MEMBER, )
} options_t;

#define AT(name) offsetof(options_t, name)
static const config_field_t fields[] = {
    {"targets", CONFIG_STRING, AT(targets), NULL,
     "two or more, with commas between them: kinds of device (cpu, vulkan), devices (vulkan:1), "
     "targets "
     "(c:scalar), or both (vulkan:spirv1.3@1); pcp devices lists them. The first is what the "
     "others are "
     "compared with",
     0, 0, NULL, false},
    {"steps", CONFIG_INT, AT(steps), "50", "training steps", 1, 1000000, NULL, false},
    {"max_deviation", CONFIG_FLOAT, AT(max_deviation), "0",
     "a loss that deviates by more, as a share of the first target's, makes the exit status 1; "
     "0: any may",
     0, 1e9, NULL, false},
    {"max_drift", CONFIG_FLOAT, AT(max_drift), "0",
     "and so do parameters |a - b| / |a| after the last step; 0: any", 0, 1e9, NULL, false},
    {"every", CONFIG_INT, AT(every), "1", "print every so many steps, and the last", 1, 1000000,
     NULL, false},
    OUTPUT_FIELDS(options_t, ""),
    {"threads", CONFIG_INT, AT(threads), "0", "0: one per core", 0, 1024, NULL, false},
    {"memory_limit", CONFIG_INT, AT(memory_limit), "0",
     "bytes of a device's memory at most (512Mi, 2Gi); 0: what it has", 0, 1e15, NULL, false},
    {"vocab", CONFIG_INT, AT(vocab), "0",
     "without --data: random tokens are below this; 0: the model's vocabulary", 0, 1 << 24, NULL,
     false},
    TRAIN_DATA_FIELDS(options_t) TRAIN_LAYOUT_ROW(OPTION_FIELD, options_t)
        TRAIN_LR_ROW(OPTION_FIELD, options_t) TRAIN_SEED_ROW(OPTION_FIELD, options_t)
            TRAIN_SPEC_OPTIONS(OPTION_FIELD, options_t) MODEL_ROLES_FIELDS(options_t)};
static const config_table_t table = {
    .usage = "usage: pcp compare MODEL --targets A,B [FLAGS]\n\n"
             "Compiles a StableHLO model (a scalar loss) for several targets, lets each take the "
             "same\n"
             "training steps (initial values, batches, random draws, learning rate), and tells "
             "losses,\n"
             "norms of updates, and how far losses and parameters come apart. Batches are those "
             "of\n"
             "--data, or random tokens; the learning rate stays as it is.\n"
             "Exit status: 0, 1 when a limit is exceeded or a step fails, 2 usage.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

typedef struct {
    const options_t *o;
    const char *path;
    model_info_t model;
    int n;
    device_place_t place[MAX_SIDES];
    trial_options_t trial_options;
    trial_t trial[MAX_SIDES];
    compare_side_t side[MAX_SIDES];
    train_material_t material;
    file_map_t tokens;
    batch_layout_t layout;
    feed_t feed;
    progress_t progress;
} job_t;

/* --- Sides ------------------------------------------------------------------------------------ */

static int find_places(job_t *self, err_t *err)
{
    char *texts = mem_strdup(self->o->targets ? self->o->targets : ""), *rest = texts, *text;
    int status = 0;
    while (status == 0 && (text = strsep(&rest, ",")) && *texts) {
        if (self->n == MAX_SIDES)
            status = err_set(err, ERR_ARG, "--targets: at most %d", MAX_SIDES);
        else
            status = device_place(text, &self->place[self->n++], err);
    }
    free(texts);
    if (status == 0 && self->n < 2)
        status = err_set(err, ERR_ARG, "--targets: give two or more, such as cpu,vulkan");
    return status;
}

static int start_sides(job_t *self, err_t *err)
{
    for (int s = 0; s < self->n; s++) {
        char text[PROGRESS_TEXT];
        trial_options_t options = self->trial_options;
        options.place = &self->place[s];
        snprintf(text, sizeof text, "compiling for %s", self->place[s].target);
        progress_aside(&self->progress, text);
        int status = trial_init(&self->trial[s], self->model.text.at, self->model.text.n,
                                self->path, &options, err);
        progress_end(&self->progress);
        if (status < 0) return err_prefix(err, "%s: ", self->place[s].target);
    }
    return 0;
}

/* --- Batches ---------------------------------------------------------------------------------- */

static const void *const *random_batch(void *user, int64_t step, err_t *err)
{
    job_t *self = user;
    (void)err;
    trial_draw(&self->trial[0], &self->trial_options, (uint64_t)step);
    return (const void *const *)self->trial[0].batch;
}

static const void *const *data_batch(void *user, int64_t step, err_t *err)
{
    job_t *self = user;
    if (feed_step(&self->feed, self->tokens.at, (uint64_t)step, err) < 0) return NULL;
    return (const void *const *)self->feed.args;
}

/* Their file has lost its name when this returns. */
static int make_tokens(job_t *self, err_t *err)
{
    scratch_t scratch = {0};
    if (scratch_make(&scratch, NULL, "compare", err) < 0) return -1;
    const train_config_t config = {.data = self->o->data,
                                   .field = self->o->field,
                                   .messages = self->o->messages,
                                   .tokenizer = self->o->tokenizer,
                                   .run_dir = scratch.dir};
    char *rest = mem_printf("%s/rest", scratch.dir);
    int status = train_material_tokens(&config, &self->model, NULL, &self->material, err);
    if (status == 0) status = token_file_keep(self->material.tokens, 0, rest, err);
    if (status == 0) status = file_map(self->material.tokens->path, &self->tokens, err);
    free(rest);
    scratch_remove(&scratch);
    return status;
}

static int open_data(job_t *self, err_t *err)
{
    const options_t *o = self->o;
    const plan_t *plan = self->trial[0].plan;
    const char *layout = train_records_dir(o->data) ? "rows" : o->layout;
    ir_type_t types[BATCH_MAX_ARGS];
    int n = 0;
    if (make_tokens(self, err) < 0) return -1;
    for (int i = 0; i < plan->n_tensor; i++) {
        if (!plan_trains_on(plan, i)) continue;
        if (n == BATCH_MAX_ARGS)
            return err_set(err, ERR_SHAPE, "%d batch arguments at most", BATCH_MAX_ARGS);
        types[n++] = plan->tensor[i].type;
    }
    if (batch_layout(batch_kind(layout), types, n, &self->layout, err) < 0) return -1;
    self->layout.token_bytes = (int)self->material.tokens->bytes;
    const data_order_t order = {.seed = (uint64_t)o->seed,
                                .n_units = batch_units(&self->layout, self->material.n_train)};
    const data_range_t range = {.count = self->layout.units * (uint64_t)plan->accumulate *
                                         (uint64_t)o->steps};
    return feed_init(&self->feed, &self->layout, &order, &range, (uint32_t)self->material.vocab,
                     plan->accumulate, err);
}

/* --- The whole -------------------------------------------------------------------------------- */

static void show(void *user, int64_t n)
{
    job_t *self = user;
    progress_at(&self->progress, (double)n, (double)self->o->steps, PROGRESS_THINGS);
}

static int judge(const job_t *self, err_t *err)
{
    const options_t *o = self->o;
    for (int s = 1; s < self->n; s++) {
        const compare_side_t *side = &self->side[s];
        const char *target = self->place[s].target;
        if (o->max_deviation > 0 && !(side->largest <= o->max_deviation))
            return err_set(err, ERR_NUMERIC,
                           "%s: the loss of step %lld deviates by %.3g, --max-deviation is %g",
                           target, (long long)side->largest_step + 1, side->largest,
                           o->max_deviation);
        if (o->max_drift > 0 && !(side->drift <= o->max_drift))
            return err_set(err, ERR_NUMERIC,
                           "%s: parameters have drifted by %.3g, --max-drift is %g; furthest: %s",
                           target, side->drift, o->max_drift, side->apart);
    }
    return 0;
}

static int take_steps(job_t *self, err_t *err)
{
    const options_t *o = self->o;
    const compare_options_t options = {.n_step = o->steps,
                                       .lr = o->lr,
                                       .batch = o->data ? data_batch : random_batch,
                                       .stepped = show,
                                       .user = self};
    progress_aside(&self->progress, "taking steps");
    int status = compare_run(self->trial, self->n, &options, self->side, err);
    progress_end(&self->progress);
    if (status < 0) return -1;
    const compare_report_t report = {self->path, self->trial, self->side, self->n, o->steps};
    output_t format = output_of(o->output, o->json);
    if (format == OUTPUT_TABLE)
        compare_print(&report, o->every, stdout);
    else
        output_value(format, compare_json(&report), stdout);
    return judge(self, err);
}

static int compare_model(job_t *self, err_t *err)
{
    const options_t *o = self->o;
    const spec_options_t wanted = {TRAIN_SPEC_OPTIONS(OPTION_TAKE, o)};
    const train_spec_t spec = train_spec_of(&wanted);
    int64_t vocab = o->vocab ? o->vocab : self->model.vocab ? self->model.vocab : 256;
    self->trial_options = (trial_options_t){.spec = &spec,
                                            .threads = (int)o->threads,
                                            .memory_limit = (uint64_t)o->memory_limit,
                                            .vocab = vocab,
                                            .seed = (uint64_t)o->seed};
    if (start_sides(self, err) < 0 || (o->data && open_data(self, err) < 0)) return -1;
    return take_steps(self, err);
}

static int compare(const void *options, const config_args_t *args, err_t *err)
{
    job_t self = {.o = options};
    if (args->n_operands != 1) return err_set(err, ERR_ARG, "give one StableHLO file (try --help)");
    self.path = args->operands[0];
    const roles_options_t roles = MODEL_ROLES_OPTIONS(self.o);
    if (find_places(&self, err) < 0) return -1;
    int status = model_info_load(self.path, &roles, &self.model, err);
    if (status == 0) status = compare_model(&self, err);
    compare_fini(self.side, self.n);
    for (int s = 0; s < self.n; s++) trial_fini(&self.trial[s]);
    feed_fini(&self.feed);
    file_unmap(&self.tokens);
    train_material_fini(&self.material);
    model_info_fini(&self.model);
    return status;
}

int cmd_compare(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, compare, &err);
}
