/* A model, a tokenizer and a writer, for one text. */
#include "infer/sample.h"

#include "base/utf8.h"
#include "infer/writer.h"

static void told(void *user, const writer_told_t *told)
{
    str_addn(user, told->piece, told->n);
}

static int write_text(const sample_t *self, infer_t *model, const tokenizer_t *tokenizer,
                      str_t *text, err_t *err)
{
    const writer_options_t how = {
        .choose = {.temperature = 1, .top_p = 1, .repetition = 1, .seed = self->seed},
        .tokens = self->tokens,
        .logprobs = -1};
    writer_t *writer = writer_new(model, tokenizer);
    const char *prompt = *self->prompt ? self->prompt : "\n";
    int rc = writer_add(writer, prompt, &how, told, text, err) < 0 ? -1 : 0;
    while (rc == 0 && writer_active(writer) > 0) rc = writer_step(writer, err);
    writer_destroy(&writer);
    return rc;
}

int sample_write(const sample_t *self, str_t *text, err_t *err)
{
    const infer_options_t options = {.threads = 1,
                                     .slots = 1,
                                     .slide = true,
                                     .cache_dir = self->cache_dir,
                                     .cache_limit = self->cache_limit};
    str_t raw = {0};
    tokenizer_t *tokenizer = tokenizer_parse(self->tokenizer, err);
    infer_t *model = tokenizer ? infer_open(self->model, &options, err) : NULL;
    int rc = model ? write_text(self, model, tokenizer, &raw, err) : -1;
    if (rc == 0) utf8_add(text, str_text(&raw), raw.n);
    str_fini(&raw);
    infer_close(&model);
    tokenizer_destroy(&tokenizer);
    return rc;
}
