/* One row a flag; prompts by lines, stop strings, biases by token. */
#include "pcp/generate_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "infer/writer.h"

#define AT(name) offsetof(generate_options_t, name)
#define NO_PROMPT "\n" /* that of who gives none: a text begins */
#define BETWEEN "\036" /* of values of one flag; a record separator, which no text has */
static const config_field_t fields[] = {
    {"checkpoint", CONFIG_STRING, AT(checkpoint), NULL,
     "a run's directory, its checkpoints' (the newest is taken) or one of them", 0, 0, NULL, false},
    {"prompt", CONFIG_STRING, AT(prompt), NO_PROMPT, "text to go on from", 0, 0, NULL, false},
    {"prompts", CONFIG_STRING, AT(prompts), NULL,
     "file of prompts, one a line: a line of JSON for each, in order", 0, 0, NULL, false},
    {"tokens", CONFIG_INT, AT(tokens), "200", "tokens to write", 1, 1e9, NULL, false},
    {"temperature", CONFIG_FLOAT, AT(temperature), "1", "below 1: safer; 0: always the likeliest",
     0, 100, NULL, false},
    {"top_k", CONFIG_INT, AT(top_k), "0", "choose among the k likeliest; 0: among all", 0, 1e9,
     NULL, false},
    {"top_p", CONFIG_FLOAT, AT(top_p), "1",
     "choose among the fewest likeliest whose shares reach this", 1e-9, 1, NULL, false},
    {"min_p", CONFIG_FLOAT, AT(min_p), "0",
     "choose among those at least so many times as likely as the likeliest", 0, 1, NULL, false},
    {"repetition", CONFIG_FLOAT, AT(repetition), "1",
     "above 1: tokens that are there already become less likely", 1e-3, 1000, NULL, false},
    {"bias", CONFIG_STRING, AT(bias), NULL,
     "TOKEN=NUMBER to add to a token's score, may be given again; -inf: never", 0, 0, ",", false},
    {"stop", CONFIG_STRING, AT(stop), NULL,
     "end before this text, may be given again; it is not written", 0, 0, BETWEEN, false},
    {"seed", CONFIG_INT, AT(seed), "1", "same seed, same text", 0, 0, NULL, false},
    {"json", CONFIG_BOOL, AT(json), "false", "a line of JSON in the place of the text", 0, 0, NULL,
     false},
    {"logprobs", CONFIG_INT, AT(logprobs), "-1",
     "with JSON: each token's log-probability, and so many of the likeliest; -1: none", -1,
     WRITER_MOST_LOGPROBS, NULL, false},
    {"batch", CONFIG_INT, AT(batch), "0", "prompts at a time; 0: up to 8", 0, 4096, NULL, false},
    {"context", CONFIG_INT, AT(context), "0",
     "tokens that are looked back on at most; 0: as many as the model was trained with", 0, 1 << 24,
     NULL, false},
    {"no_slide", CONFIG_BOOL, AT(no_slide), "false",
     "refuse longer prompts and end when the context is full, in the place of forgetting", 0, 0,
     NULL, false},
    {"weights", CONFIG_ENUM, AT(weights), "trained",
     "how matrices are kept; trained: as the model has them; int8: rounded, with a scale for each "
     "row",
     0, 0, "trained|f32|bf16|int8", false},
    {"keep", CONFIG_ENUM, AT(keep), "weights",
     "how keys and values of what has been read are kept; weights: in bf16 where a known "
     "family's matrices are bf16 or int8, else in f32",
     0, 0, "weights|f32|bf16", false},
    {"activations", CONFIG_ENUM, AT(activations), "f32",
     "what matrices of bf16 and int8 are multiplied with; f32: numbers as they are; weights: "
     "rounded to the same type, faster for several texts on some processors",
     0, 0, "f32|weights", false},
    {"window", CONFIG_BOOL, AT(window), "false",
     "compute the whole window for each token, as models that mix positions otherwise than by "
     "attention need",
     0, 0, NULL, false},
    {"timing", CONFIG_BOOL, AT(timing), "false", "tell tokens a second on standard error", 0, 0,
     NULL, false},
    {"threads", CONFIG_INT, AT(threads), "0", "0: one per core", 0, 1024, NULL, false},
    {"plans_limit", CONFIG_INT, AT(plans_limit), "4Gi",
     "bytes of the disk that your compiled plans may take, what was used longest ago goes; 0: any",
     0, 1e15, NULL, false},
};
const config_table_t generate_table = {
    .usage = "usage: pcp generate --checkpoint DIR [--prompt TEXT] [FLAGS]\n\n"
             "Lets a trained model write. Its module has a function @logits, or a loss of a "
             "language model (docs/generation.md).",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

/* The pieces of text between separators, in place; *n of them. Returns, caller frees. */
static char **split(char *text, const char *between, size_t *n)
{
    VEC(char *) list = {0};
    for (char *at = text, *next = text; next; at = next) {
        if ((next = strstr(at, between))) {
            *next = '\0';
            next += strlen(between);
        }
        VEC_PUSH(&list, at);
    }
    *n = list.n;
    return list.at;
}

static int read_prompts(const char *path, generate_lists_t *lists, err_t *err)
{
    size_t n = 0;
    lists->file = file_read(path, &n, err);
    if (!lists->file) return -1;
    if (n == 0) return err_set(err, ERR_ARG, "%s: holds no prompt", path);
    if (strlen(lists->file) != n) return err_set(err, ERR_ARG, "%s: has a NUL", path);
    if (n > 0 && lists->file[n - 1] == '\n') lists->file[n - 1] = '\0';
    lists->prompt = split(lists->file, "\n", &lists->n_prompt);
    for (size_t i = 0; i < lists->n_prompt; i++) { /* a file from Windows */
        size_t length = strlen(lists->prompt[i]);
        if (length > 0 && lists->prompt[i][length - 1] == '\r') lists->prompt[i][length - 1] = '\0';
    }
    return 0;
}

static int read_bias(const char *text, generate_lists_t *lists, err_t *err)
{
    VEC(choose_bias_t) list = {0};
    for (const char *at = text; *at;) {
        char *end, *value_end;
        unsigned long token = strtoul(at, &end, 10);
        float add = *end == '=' ? strtof(end + 1, &value_end) : 0;
        bool fine = end != at && *end == '=' && value_end != end + 1 && token <= UINT32_MAX &&
                    (*value_end == ',' || !*value_end) && *at != '-';
        if (!fine) {
            VEC_FREE(&list);
            return err_set(err, ERR_ARG, "--bias %s: expected TOKEN=NUMBER at \"%.40s\"", text, at);
        }
        VEC_PUSH(&list, ((choose_bias_t){(uint32_t)token, add}));
        at = value_end + (*value_end == ',');
    }
    lists->bias = list.at;
    lists->n_bias = list.n;
    return 0;
}

int generate_lists(const generate_options_t *o, generate_lists_t *lists, err_t *err)
{
    *lists = (generate_lists_t){0};
    int status = 0;
    if (o->prompts && strcmp(o->prompt, NO_PROMPT) != 0)
        return err_set(err, ERR_ARG,
                       "--prompt and --prompts exclude each other: give --prompt alone, or add its "
                       "text to %s as a line and leave --prompt out",
                       o->prompts);
    if (o->prompts) {
        status = read_prompts(o->prompts, lists, err);
    } else {
        lists->file = mem_strdup(o->prompt);
        lists->prompt = mem_calloc(1, sizeof *lists->prompt);
        lists->prompt[lists->n_prompt++] = lists->file;
    }
    if (status == 0 && o->stop) lists->stop = split(o->stop, BETWEEN, &lists->n_stop);
    if (status == 0 && o->bias) status = read_bias(o->bias, lists, err);
    if (status < 0) generate_lists_fini(lists);
    return status;
}

void generate_lists_fini(generate_lists_t *self)
{
    free(self->file);
    free(self->prompt);
    free(self->stop);
    free(self->bias);
    *self = (generate_lists_t){0};
}

choose_options_t generate_choose(const generate_options_t *o, const generate_lists_t *lists)
{
    return (choose_options_t){.temperature = o->temperature,
                              .top_k = o->top_k,
                              .top_p = o->top_p,
                              .min_p = o->min_p,
                              .repetition = o->repetition,
                              .seed = (uint64_t)o->seed,
                              .bias = lists->bias,
                              .n_bias = lists->n_bias};
}
