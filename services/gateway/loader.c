/* An actor that opens checkpoints, and looks where the run's newest one is. */
#include "gateway/loader.h"

#include <stdlib.h>
#include <string.h>

#include "base/hand_over.h"
#include "base/mem.h"
#include "ckpt/run_checkpoint.h"
#include "infer/writer.h"

struct loader {
    zactor_t *actor;
    loader_options_t options;
};

typedef struct {
    const loader_options_t *options;
    char *module, *tokenizer; /* of the first checkpoint: later ones must have the same */
    char *last;               /* the newest that was tried */
} state_t;

static int check_model(state_t *self, const checkpoint_t *checkpoint, err_t *err)
{
    const checkpoint_info_t *info = checkpoint_info(checkpoint);
    if (!info->tokenizer) return err_set(err, ERR_CORRUPT, "the checkpoint names no tokenizer");
    if (self->module && strcmp(self->module, info->module_hash) != 0)
        return err_set(err, ERR_ARG, "the checkpoint is of another model: restart to serve it");
    if (self->tokenizer && strcmp(self->tokenizer, info->tokenizer) != 0)
        return err_set(err, ERR_ARG, "the checkpoint has another tokenizer: restart to serve it");
    return 0;
}

static int check_family(const infer_t *model, err_t *err)
{
    infer_facts_t facts = infer_facts(model);
    if (!facts.window) return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "cannot be served: %s, so that nothing of a text can be kept between its tokens "
                   "(docs/generation.md)",
                   facts.why);
}

/* The tokenizer of the first checkpoint, which others are compared with from then on. */
static int take_tokenizer(state_t *self, const checkpoint_t *checkpoint, loaded_t *out, err_t *err)
{
    const checkpoint_info_t *info = checkpoint_info(checkpoint);
    if (self->tokenizer) return 0;
    out->tokenizer = tokenizer_parse(info->tokenizer, err);
    if (!out->tokenizer) return -1;
    self->tokenizer = mem_strdup(info->tokenizer);
    out->description = mem_strdup(info->tokenizer);
    hash_content(info->tokenizer, strlen(info->tokenizer), out->tokenizer_hash);
    self->module = mem_strdup(info->module_hash ? info->module_hash : "");
    return 0;
}

/* The same checkpoint with other matrices, with keys and values kept otherwise, or other activations, writes other texts. */
static const char *const matrices[] = {
    [INFER_AS_TRAINED] = "", [INFER_F32] = "-f32", [INFER_BF16] = "-bf16", [INFER_I8] = "-int8"};
static const char *const kept[] = {
    [INFER_KEEP_AS_WEIGHTS] = "", [INFER_KEEP_F32] = "-keepf32", [INFER_KEEP_BF16] = "-keepbf16"};
static const char *const activations[] = {
    [INFER_ACTIVATIONS_F32] = "", [INFER_ACTIVATIONS_AS_WEIGHTS] = "-rounded"};

static int load(state_t *self, loaded_t *out, err_t *err)
{
    checkpoint_t *checkpoint = run_checkpoint_open(self->options->path, err);
    if (!checkpoint) return -1; /* the error names what is wrong */
    int status = check_model(self, checkpoint, err);
    if (status == 0) out->model = infer_open_checkpoint(checkpoint, &self->options->infer, err);
    if (status == 0) status = out->model ? check_family(out->model, err) : -1;
    if (status == 0) status = take_tokenizer(self, checkpoint, out, err);
    if (status == 0 && out->tokenizer)
        status = writer_fits(out->tokenizer, infer_facts(out->model).vocab, err);
    if (status == 0) {
        out->facts = infer_facts(out->model);
        out->path = mem_strdup(checkpoint_path(checkpoint));
        out->round = checkpoint_info(checkpoint)->round;
        snprintf(out->hash, sizeof out->hash, "%.12s%s%s%s", checkpoint_hash(checkpoint),
                 matrices[self->options->infer.weights], kept[self->options->infer.keep],
                 activations[self->options->infer.activations]);
    } else {
        infer_close(&out->model);
        err_prefix(err, "%s: ", self->options->path);
    }
    checkpoint_close(&checkpoint);
    return status;
}

static void load_and_tell(state_t *self, zsock_t *pipe)
{
    loaded_t *out = mem_calloc(1, sizeof *out);
    err_t err = {0};
    free(self->last);
    self->last = run_checkpoint_newest(self->options->path);
    if (load(self, out, &err) < 0) out->error = mem_strdup(err.text);
    zsock_send(pipe, "p", hand_over(out));
}

static bool is_newer(const state_t *self)
{
    char *newest = run_checkpoint_newest(self->options->path);
    bool newer = newest && (!self->last || strcmp(newest, self->last) != 0);
    free(newest);
    return newer;
}

static void loader_main(zsock_t *pipe, void *arg)
{
    loader_t *loader = arg;
    state_t self = {.options = &loader->options};
    int wait_ms = self.options->follow_ms > 0 ? (int)self.options->follow_ms : -1;
    zpoller_t *poller = zpoller_new(pipe, NULL);
    zsock_signal(pipe, 0);
    load_and_tell(&self, pipe);
    while (!zpoller_wait(poller, wait_ms) && zpoller_expired(poller))
        if (is_newer(&self)) load_and_tell(&self, pipe);
    zpoller_destroy(&poller);
    free(self.module);
    free(self.tokenizer);
    free(self.last);
}

loader_t *loader_new(const loader_options_t *options)
{
    loader_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    self->actor = zactor_new(loader_main, self);
    return self;
}

void loader_destroy(loader_t **self_p)
{
    loader_t *self = *self_p;
    if (!self) return;
    for (loaded_t *one; (one = loader_receive(self));) loaded_free(one);
    zactor_destroy(&self->actor);
    free(self);
    *self_p = NULL;
}

zsock_t *loader_socket(loader_t *self)
{
    return zactor_sock(self->actor);
}

loaded_t *loader_receive(loader_t *self)
{
    void *pointer = NULL;
    if (!(zsock_events(self->actor) & ZMQ_POLLIN)) return NULL;
    if (zsock_recv(self->actor, "p", &pointer) < 0) return NULL;
    return take_over(pointer);
}

void loaded_free(loaded_t *loaded)
{
    infer_close(&loaded->model);
    tokenizer_destroy(&loaded->tokenizer);
    free(loaded->description);
    free(loaded->path);
    free(loaded->error);
    free(loaded);
}
