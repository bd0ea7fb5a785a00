/* Fuzz target: bodies of /v1/completions, /v1/chat/completions and /v1/embeddings. A body is read whole
 * or refused with a status and words; what is read lies within its bounds, is rendered by every chat template, and
 * takes memory in proportion to the body. */
#include "serve/request.h"

#include "alloc_bound.h"
#include "fuzz.h"
#include "serve/answer.h"
#include "serve/chat.h"

/* jansson keeps a list's element of two bytes in under 100; its tables come on top. */
enum { REQUEST_MULTIPLE = 256, REQUEST_CONSTANT = 1 << 20 };

static void requests_check(const request_t *r)
{
    static const char *const names[] = {"chatml", "llama3", "llama2", "mistral", "zephyr", "plain"};
    str_t text = {0};
    if (r->chat ? r->n_message < 1 : r->n_prompt < 1) broken("there is something to answer", "");
    if (r->n < 1 || r->n_prompt * (size_t)r->n > REQUEST_TEXTS || r->n > REQUEST_TEXTS)
        broken("the number of texts is bounded", "");
    if (r->tokens < (r->chat ? 0 : 1) || r->n_stop > REQUEST_STOPS ||
        r->logprobs > REQUEST_LOGPROBS || r->logprobs < -1)
        broken("numbers are bounded", "");
    choose_options_t options = r->choose;
    err_t err = {0};
    options.n_bias = 0;
    choose_t *choose = choose_new(&options, 2, &err);
    if (!choose) broken("the rules of the choice are within their ranges", err.text);
    choose_destroy(&choose);
    for (size_t i = 0; r->chat && i < sizeof names / sizeof *names; i++)
        if (chat_render(chat_find(names[i]), r->message, r->n_message, 0, &text, &err) < 0)
            broken("a known template renders every chat", err.text);
    str_fini(&text);
}

static void requests_read(request_kind_t kind, const uint8_t *data, size_t n)
{
    request_t request;
    refusal_t refusal = {0};
    str_t answer = {0};
    alloc_bound_begin("request", REQUEST_MULTIPLE, n, REQUEST_CONSTANT);
    int status = request_parse(kind, (const char *)data, n, &request, &refusal);
    alloc_bound_end();
    if (status == 0) {
        requests_check(&request);
        request_fini(&request);
        return;
    }
    answer_refusal(&refusal, &answer);
    if (refusal.status < 400 || !*refusal.text || answer.n < 20) broken("an error says so", "");
    str_fini(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    requests_read(REQUEST_TEXT, data, n);
    requests_read(REQUEST_CHAT, data, n);
    requests_read(REQUEST_EMBEDDINGS, data, n);
    return 0;
}
