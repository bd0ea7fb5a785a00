/* The configuration table of the gateway. */
#include "gateway/config.h"

#define TEXT(key, text, words_, ...)                                                    \
    {                                                                                   \
        .name = #key, .kind = CONFIG_STRING, .offset = offsetof(gateway_config_t, key), \
        .fallback = text, .help = words_, ##__VA_ARGS__                                 \
    }
#define COUNT(key, text, low, high, words_)                                          \
    {                                                                                \
        .name = #key, .kind = CONFIG_INT, .offset = offsetof(gateway_config_t, key), \
        .fallback = text, .help = words_, .min = low, .max = high                    \
    }
#define FLAG(key, words_)                                                             \
    {                                                                                 \
        .name = #key, .kind = CONFIG_BOOL, .offset = offsetof(gateway_config_t, key), \
        .fallback = "false", .help = words_                                           \
    }

static const config_field_t fields[] = {
    TEXT(model, NULL,
         "NAME=DIR: serve the checkpoint of DIR (a run's directory, its checkpoints' or one of "
         "them) as NAME; may be given again",
         .words = ","),
    TEXT(http, "127.0.0.1:8000", "HOST:PORT to listen at; port 0 takes any"),
    TEXT(tokens, NULL,
         "file of access tokens, lines NAME TOKEN, mode 0600; without it only this machine may "
         "connect [none]"),
    TEXT(tls_cert, NULL, "PEM file of a certificate and its chain: serves HTTPS alone [none]"),
    TEXT(tls_key, NULL, "PEM file of its key, mode 0600 [none]"),
    TEXT(
        chat_template, NULL,
        "how chats become text: chatml, llama3, llama2, mistral, zephyr or plain, or the path of a "
        "model's tokenizer_config.json or chat_template.jinja (or of their directory); of one "
        "model: NAME=WORD, may be given again [the model's own, or by the tokenizer's marks]",
        .words = ","),
    COUNT(batch, "16", 1, 4096, "texts that a model writes at a time; compiled into its plan"),
    COUNT(queue, "64", 0, 1000000,
          "texts of a model that wait; who asks for more is told to come again"),
    COUNT(connections, "512", 32, 100000, "that clients may have open"),
    COUNT(body_bytes, "1Mi", 1024, 67108864, "of a request at most"),
    {.name = "timeout_s",
     .kind = CONFIG_FLOAT,
     .offset = offsetof(gateway_config_t, timeout_s),
     .fallback = "600",
     .help = "seconds from a request to the end of its answer at most",
     .min = 0.01,
     .max = 86400},
    COUNT(drain_s, "30", 0, 86400, "at SIGTERM: seconds for answers that have begun"),
    COUNT(context, "0", 0, 16777216,
          "tokens of a prompt and its text at most; 0: as many as the model was trained with"),
    {.name = "weights",
     .kind = CONFIG_ENUM,
     .offset = offsetof(gateway_config_t, weights),
     .fallback = "trained",
     .help = "how matrices are kept; trained: as the model has them; int8: rounded, with a scale "
             "for each row",
     .words = "trained|f32|bf16|int8"},
    {.name = "keep",
     .kind = CONFIG_ENUM,
     .offset = offsetof(gateway_config_t, keep),
     .fallback = "weights",
     .help = "how keys and values of what has been read are kept; weights: in bf16 where a known "
             "family's matrices are bf16 or int8, else in f32",
     .words = "weights|f32|bf16"},
    {.name = "activations",
     .kind = CONFIG_ENUM,
     .offset = offsetof(gateway_config_t, activations),
     .fallback = "f32",
     .help = "what matrices of bf16 and int8 are multiplied with; f32: numbers as they are; "
             "weights: rounded to the same type, faster for several texts on some processors",
     .words = "f32|weights"},
    FLAG(follow, "serve newer checkpoints of the same run as they come, without a restart"),
    COUNT(threads, "0", 0, 1024, "of each model; 0: one per core"),
    COUNT(plans_limit, "4Gi", 0, 1e15,
          "bytes of the disk that the user's compiled plans may take, what was used longest ago "
          "goes; 0: any"),
    TEXT(members, NULL,
         "tcp://HOST:PORT or ipc://PATH: inference members may join there (--join), and their "
         "models "
         "are served, too [none]"),
    COUNT(member_wait_s, "10", 0, 3600,
          "seconds that a text waits for a member that could write it, or write it on"),
    TEXT(join, NULL,
         "ENDPOINT of a gateway's --members: write texts for it, as a member, without HTTP of its "
         "own "
         "[none]"),
    TEXT(id, NULL, "with --join: unique among the gateway's members [inference-HOST-RANDOM]"),
    FLAG(list_metrics, "print all metrics as a table; then leave"),
    SERVICE_FIELDS(gateway_config_t),
};

const config_table_t gateway_table = {
    .usage =
        "pcp-gateway --model NAME=DIR [--http HOST:PORT] [--tokens FILE] [--members ENDPOINT]\n"
        "       pcp-gateway --model NAME=DIR --join ENDPOINT\n"
        "Serves checkpoints to clients of OpenAI's interface: /v1/completions,\n"
        "/v1/chat/completions, /v1/embeddings, /v1/models, and a page to chat with\n"
        "(docs/serving.md). With --members others write texts, too, which --join a gateway.\n"
        "Exit status: 0 ended by a signal, 1 failed, 2 a flag is wrong.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};
