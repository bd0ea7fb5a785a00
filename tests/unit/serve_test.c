/* Requests of OpenAI's interface: each field, what it refuses and how it says so; chats as text; answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "serve/answer.h"
#include "serve/chat.h"
#include "serve/embeddings.h"
#include "serve/request.h"

static request_t accepted(request_kind_t kind, const char *body)
{
    request_t request;
    refusal_t refusal = {0};
    int status = request_parse(kind, body, strlen(body), &request, &refusal);
    if (status < 0) print_message("%s\n%s\n", body, refusal.text);
    assert_int_equal(status, 0);
    return request;
}

static void test_completion(void **state)
{
    (void)state;
    request_t r = accepted(
        false, "{\"model\":\"m\",\"prompt\":\"a\\ud83d\\ude00\",\"max_tokens\":5,"
               "\"temperature\":0,\"top_p\":0,\"n\":3,\"stop\":\"x\",\"seed\":-1,"
               "\"presence_penalty\":2,\"frequency_penalty\":-2,\"logit_bias\":{\"7\":-100},"
               "\"logprobs\":0,\"stream\":true,\"stream_options\":{\"include_usage\":true},"
               "\"echo\":null,\"somebodys_own\":{\"x\":[1]}}");
    assert_string_equal(r.model, "m");
    assert_int_equal(r.n_prompt, 1);
    assert_string_equal(r.prompt[0].text, "a\xF0\x9F\x98\x80");
    assert_int_equal(r.prompt[0].n, 5);
    assert_true(r.tokens == 5 && r.n == 3 && r.logprobs == 0 && r.stream && r.usage && !r.echo);
    assert_true(r.choose.temperature == 0 && r.choose.top_p > 0 && r.choose.top_p < 1e-6);
    assert_true(r.choose.presence == 2 && r.choose.frequency == -2);
    assert_true(r.has_seed && r.choose.seed == UINT64_MAX);
    assert_true(r.n_stop == 1 && strcmp(r.stop[0], "x") == 0);
    assert_true(r.choose.n_bias == 1 && r.choose.bias[0].token == 7 &&
                r.choose.bias[0].add == -100);
    request_fini(&r);
}

static void test_defaults(void **state)
{
    (void)state;
    request_t r = accepted(false, "{\"prompt\":\"\"}");
    assert_true(!r.model && r.tokens == REQUEST_TOKENS && r.n == 1 && r.logprobs == -1);
    assert_true(r.choose.temperature == 1 && !r.has_seed && !r.stream && r.n_stop == 0);
    request_fini(&r);
    r = accepted(true, "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"logprobs\":false}");
    assert_true(r.tokens == 0 && r.logprobs == -1);
    request_fini(&r);
    r = accepted(true, "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"logprobs\":true}");
    assert_int_equal(r.logprobs, 0);
    request_fini(&r);
}

static void test_prompts(void **state)
{
    (void)state;
    request_t r = accepted(false, "{\"prompt\":[1,2,3]}");
    assert_true(r.n_prompt == 1 && !r.prompt[0].text && r.prompt[0].n == 3 &&
                r.prompt[0].tokens[2] == 3);
    request_fini(&r);
    r = accepted(false, "{\"prompt\":[[4],[5,6]]}");
    assert_true(r.n_prompt == 2 && r.prompt[1].n == 2 && r.prompt[1].tokens[0] == 5);
    request_fini(&r);
    r = accepted(false, "{\"prompt\":[\"a\",\"b\"]}");
    assert_true(r.n_prompt == 2 && strcmp(r.prompt[1].text, "b") == 0);
    request_fini(&r);
}

#define MESSAGES "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]"

/* A body, the field that is named, and words of the message. */
static const struct {
    bool chat;
    const char *body, *param, *words;
} bad[] = {
    {false, "", "", "not JSON"},
    {false, "{", "", "line 1, column 1"},
    {false, "[]", "", "no JSON object"},
    {false, "{}", "prompt", "missing"},
    {true, "{}", "messages", "missing"},
    {false, "{\"prompt\":\"\\ud800\"}", "", "not JSON"},
    {false, "{\"prompt\":\"a\\u0000b\"}", "", "texts with U+0000 are not taken"},
    {false, "{\"prompt\":\"a\",\"n\":1e999}", "", "not JSON"},
    {false, "{\"prompt\":\"a\",\"seed\":99999999999999999999}", "", "not JSON"},
    {false, "{\"prompt\":5}", "prompt", "must be a string"},
    {false, "{\"prompt\":[]}", "prompt", "must be a string"},
    {false, "{\"prompt\":[1,\"a\"]}", "prompt", "prompt[1] is no token"},
    {false, "{\"prompt\":[-1]}", "prompt", "prompt[0] is no token"},
    {false, "{\"prompt\":[4294967296]}", "prompt", "no token"},
    {false, "{\"prompt\":[[]]}", "prompt", "empty"},
    {false, "{\"prompt\":[\"a\",5]}", "prompt", "prompt[1] must be"},
    {false, "{\"prompt\":\"a\",\"model\":5}", "model", "must be a string"},
    {false, "{\"prompt\":\"a\",\"max_tokens\":0}", "max_tokens", "is 0, must be from 1"},
    {false, "{\"prompt\":\"a\",\"max_tokens\":\"5\"}", "max_tokens", "whole number"},
    {false, "{\"prompt\":\"a\",\"max_tokens\":1.5}", "max_tokens", "whole number"},
    {false, "{\"prompt\":\"a\",\"max_tokens\":9223372036854775807}", "max_tokens", "must be"},
    {false, "{\"prompt\":\"a\",\"temperature\":2.1}", "temperature", "from 0 to 2"},
    {false, "{\"prompt\":\"a\",\"temperature\":\"1\"}", "temperature", "must be a number"},
    {false, "{\"prompt\":\"a\",\"top_p\":1e308}", "top_p", "from 0 to 1"},
    {false, "{\"prompt\":\"a\",\"n\":129}", "n", "must be from 1 to 128"},
    {false, "{\"prompt\":[\"a\",\"b\"],\"n\":65}", "n", "at most 128"},
    {false, "{\"prompt\":\"a\",\"stop\":5}", "stop", "must be a string"},
    {false, "{\"prompt\":\"a\",\"stop\":[5]}", "stop", "must be a string"},
    {false, "{\"prompt\":\"a\",\"logit_bias\":[]}", "logit_bias", "must be an object"},
    {false, "{\"prompt\":\"a\",\"logit_bias\":{\"x\":1}}", "logit_bias", "no token's number"},
    {false, "{\"prompt\":\"a\",\"logit_bias\":{\"1\":101}}", "logit_bias", "from -100 to 100"},
    {false, "{\"prompt\":\"a\",\"logprobs\":21}", "logprobs", "from 0 to 20"},
    {false, "{\"prompt\":\"a\",\"logprobs\":true}", "logprobs", "whole number"},
    {false, "{\"prompt\":\"a\",\"stream\":1}", "stream", "true or false"},
    {false, "{\"prompt\":\"a\",\"stream_options\":{}}", "stream_options", "needs"},
    {false, "{\"prompt\":\"a\",\"stream\":true,\"stream_options\":5}", "stream_options", "object"},
    {false, "{\"prompt\":\"a\",\"best_of\":2}", "best_of", "not supported"},
    {false, "{\"prompt\":\"a\",\"suffix\":\"b\"}", "suffix", "not supported"},
    {false, "{\"prompt\":\"a\",\"echo\":true,\"logprobs\":1}", "echo", "not supported"},
    {true, "{\"messages\":[]}", "messages", "at least one"},
    {true, "{\"messages\":[5]}", "messages", "messages[0] must be an object"},
    {true, "{\"messages\":[{\"content\":\"a\"}]}", "messages", "role must be a string"},
    {true, "{\"messages\":[{\"role\":\"tool\",\"content\":\"a\"}]}", "messages", "\"tool\""},
    {true, "{\"messages\":[{\"role\":\"user\"}]}", "messages", "content must be"},
    {true, "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
     "messages", "only parts of type \"text\""},
    {true, "{" MESSAGES ",\"logprobs\":2}", "logprobs", "true or false"},
    {true, "{" MESSAGES ",\"top_logprobs\":2}", "top_logprobs", "needs"},
    {true, "{" MESSAGES ",\"tools\":[{}]}", "tools", "not supported"},
    {true, "{" MESSAGES ",\"response_format\":{\"type\":\"json_object\"}}", "response_format",
     "not supported"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        request_t request;
        refusal_t refusal = {0};
        int status = request_parse(bad[i].chat, bad[i].body, strlen(bad[i].body), &request,
                                   &refusal);
        bool fine = status == -1 && refusal.status == 400 &&
                    strcmp(refusal.param, bad[i].param) == 0 && strstr(refusal.text, bad[i].words);
        if (!fine) print_message("%s\n%s: %s\n", bad[i].body, refusal.param, refusal.text);
        assert_true(fine);
    }
}

/* Brackets without end neither overflow the stack nor are taken for something. */
static void test_deep(void **state)
{
    (void)state;
    enum { DEPTH = 500000 };
    char *body = malloc(DEPTH + 16);
    int at = sprintf(body, "{\"prompt\":");
    memset(body + at, '[', DEPTH);
    request_t request;
    refusal_t refusal = {0};
    assert_int_equal(request_parse(REQUEST_TEXT, body, (size_t)at + DEPTH, &request, &refusal), -1);
    assert_non_null(strstr(refusal.text, "not JSON"));
    free(body);
}

/* --- chats --- */

static void test_templates(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"chatml", "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nA<|im_end|>\n"
                   "<|im_start|>assistant\nB<|im_end|>\n<|im_start|>user\nC<|im_end|>\n"
                   "<|im_start|>assistant\n"},
        {"llama3", "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
                   "<|start_header_id|>user<|end_header_id|>\n\nA<|eot_id|>"
                   "<|start_header_id|>assistant<|end_header_id|>\n\nB<|eot_id|>"
                   "<|start_header_id|>user<|end_header_id|>\n\nC<|eot_id|>"
                   "<|start_header_id|>assistant<|end_header_id|>\n\n"},
        {"llama2", "[INST] <<SYS>>\nS\n<</SYS>>\n\nA [/INST] B </s><s>[INST] C [/INST]"},
        {"mistral", "[INST] S\n\nA [/INST] B</s>[INST] C [/INST]"},
        {"zephyr", "<|system|>\nS</s>\n<|user|>\nA</s>\n<|assistant|>\nB</s>\n<|user|>\nC</s>\n"
                   "<|assistant|>\n"},
        {"plain", "System: S\nUser: A\nAssistant: B\nUser: C\nAssistant:"},
    };
    request_t r = accepted(true, "{\"messages\":[{\"role\":\"developer\",\"content\":\"S\"},"
                                 "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                                 "\"A\"}]},{\"role\":\"assistant\",\"content\":\"B\"},"
                                 "{\"role\":\"user\",\"content\":\"C\"}]}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        str_t text = {0};
        const chat_template_t *chat = chat_find(rows[i].name);
        assert_non_null(chat);
        assert_non_null(strstr(chat_names(), rows[i].name));
        assert_int_equal(chat_render(chat, r.message, r.n_message, 0, &text, NULL), 0);
        assert_false(chat_is_whole(chat));
        assert_string_equal(str_text(&text), rows[i].text);
        str_fini(&text);
    }
    assert_null(chat_find("jinja"));
    request_fini(&r);
}

/* Pieces in their order, answers in brackets. */
static int put_piece(void *user, const char *text, size_t n, bool answer, err_t *err)
{
    (void)err;
    str_add(user, answer ? "{" : "");
    str_addn(user, text, n);
    str_add(user, answer ? "}" : "");
    return 0;
}

static void test_conversations(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"chatml", "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nA<|im_end|>\n"
                   "<|im_start|>assistant\n{B<|im_end|>}\n<|im_start|>user\nC<|im_end|>\n"
                   "<|im_start|>assistant\n{D<|im_end|>}\n"},
        {"llama3", "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
                   "<|start_header_id|>user<|end_header_id|>\n\nA<|eot_id|>"
                   "<|start_header_id|>assistant<|end_header_id|>\n\n{B<|eot_id|>}"
                   "<|start_header_id|>user<|end_header_id|>\n\nC<|eot_id|>"
                   "<|start_header_id|>assistant<|end_header_id|>\n\n{D<|eot_id|>}"},
        {"llama2", "[INST] <<SYS>>\nS\n<</SYS>>\n\nA [/INST]{ B </s>}<s>[INST] C [/INST]{ D </s>}"},
        {"mistral", "[INST] S\n\nA [/INST]{ B</s>}[INST] C [/INST]{ D</s>}"},
        {"zephyr", "<|system|>\nS</s>\n<|user|>\nA</s>\n<|assistant|>\n{B</s>}\n"
                   "<|user|>\nC</s>\n<|assistant|>\n{D</s>}\n"},
        {"plain", "System: S\nUser: A\nAssistant:{ B\n}User: C\nAssistant:{ D\n}"},
    };
    static const char good[] =
        "[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\",\"content\":\"A\"},"
        "{\"role\":\"assistant\",\"content\":\"B\"},{\"role\":\"user\",\"content\":\"C\"},"
        "{\"role\":\"assistant\",\"content\":\"D\"}]";
    static const struct {
        const char *json, *says;
    } bad[] = {
        {"[]", "no list of messages"},
        {"{\"role\":\"user\"}", "no list of messages"},
        {"[{\"role\":\"user\",\"content\":\"A\"}]", "no message is the assistant's"},
        {"[{\"role\":\"tool\",\"content\":\"A\"}]", "message 1: its role is \"tool\""},
        {"[{\"role\":\"user\",\"content\":[1]}]", "message 1: it needs texts"},
    };
    err_t err = {0};
    chat_messages_t messages;
    assert_int_equal(chat_messages_read(good, strlen(good), &messages, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        str_t text = {0};
        assert_int_equal(
            chat_pieces(chat_find(rows[i].name), messages.at, messages.n, put_piece, &text, &err),
            0);
        assert_string_equal(str_text(&text), rows[i].text);
        str_fini(&text);
    }
    chat_messages_fini(&messages);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(chat_messages_read(bad[i].json, strlen(bad[i].json), &messages, &err), -1);
        assert_non_null(strstr(err.text, bad[i].says));
        chat_messages_fini(&messages);
    }
}

/* --- embeddings --- */

static void test_embeddings(void **state)
{
    (void)state;
    static const struct {
        const char *body, *param, *words;
    } wrong[] = {
        {"{}", "input", "input is missing"},
        {"{\"input\":[]}", "input", "a list of strings"},
        {"{\"input\":[[]]}", "input", "input has an empty list"},
        {"{\"input\":[-1]}", "input", "input[0] is no token"},
        {"{\"input\":\"a\",\"encoding_format\":\"hex\"}", "encoding_format", "base64"},
        {"{\"input\":\"a\",\"dimensions\":0}", "dimensions", "must be from 1"},
    };
    request_t r = accepted(REQUEST_EMBEDDINGS, "{\"input\":[\"a\",\"bc\"],\"model\":\"m\",\"n\":7,"
                                               "\"encoding_format\":\"base64\",\"dimensions\":3}");
    assert_true(r.embeds && !r.chat && r.base64 && r.n_prompt == 2 && r.n == 1);
    assert_true(r.dimensions == 3 && strcmp(r.model, "m") == 0);
    request_fini(&r);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refusal_t refusal = {0};
        const char *body = wrong[i].body;
        assert_int_equal(request_parse(REQUEST_EMBEDDINGS, body, strlen(body), &r, &refusal), -1);
        assert_string_equal(refusal.param, wrong[i].param);
        if (!strstr(refusal.text, wrong[i].words)) fail_msg("%s: %s", body, refusal.text);
    }
    float a[] = {3, 0, -4}, b[] = {0, 0, 0}, *vectors[] = {a, b};
    str_t out = {0};
    embeddings_normalise(a, 3);
    embeddings_normalise(b, 3);
    embeddings_answer("m\"", vectors, 2, 3, false, (answer_usage_t){5, 0}, &out);
    assert_string_equal(str_text(&out),
                        "{\"object\":\"list\",\"data\":[{\"object\":\"embedding\",\"index\":0,"
                        "\"embedding\":[0.600000024,0,-0.800000012]},{\"object\":\"embedding\","
                        "\"index\":1,\"embedding\":[0,0,0]}],\"model\":\"m\\\"\",\"usage\":{"
                        "\"prompt_tokens\":5,\"total_tokens\":5}}");
    str_fini(&out);
    /* 1.0f, -2.0f: 00 00 80 3f 00 00 00 c0; and one alone, which is padded. */
    float c[] = {1, -2}, *two[] = {c};
    embeddings_answer("m", two, 1, 2, true, (answer_usage_t){1, 0}, &out);
    assert_non_null(strstr(str_text(&out), "\"embedding\":\"AACAPwAAAMA=\""));
    str_fini(&out);
    embeddings_answer("m", two, 1, 1, true, (answer_usage_t){1, 0}, &out);
    assert_non_null(strstr(str_text(&out), "\"embedding\":\"AACAPw==\""));
    str_fini(&out);
}

/* --- answers --- */

static const answer_head_t head = {.id = "cmpl-1", .model = "m", .fingerprint = "f", .created = 9};
#define HEAD(object)                                                              \
    "{\"id\":\"cmpl-1\",\"object\":\"" object "\",\"created\":9,\"model\":\"m\"," \
    "\"system_fingerprint\":\"f\","

/* Log-probabilities of a byte that is no character, and of one that is. */
static void test_answer(void **state)
{
    (void)state;
    err_t err = {0};
    str_t out = {0};
    tokenizer_t *tokenizer = tokenizer_new("byte", NULL, 0, &err);
    answer_choice_t choice = {0};
    const writer_token_t first = {0xC3, -1, 1, {'a'}, {-0.5}}, second = {0xA9, -2, 0, {0}, {0}},
                         third = {'b', -3, 0, {0}, {0}};
    answer_add(&head, &choice, tokenizer, "", 0, &first, WRITER_GOES_ON);
    answer_add(&head, &choice, tokenizer, "\xC3\xA9", 2, &second, WRITER_GOES_ON);
    answer_add(&head, &choice, tokenizer, "b", 1, &third, WRITER_GOES_ON);
    answer_add(&head, &choice, tokenizer, "", 0, NULL, WRITER_STOP);
    answer_whole(&head, &choice, 1, (answer_usage_t){3, choice.n_tokens}, &out);
    assert_string_equal(
        str_text(&out),
        HEAD("text_completion") "\"choices\":[{\"index\":0,\"text\":\"\xC3\xA9"
                                "b\",\"logprobs\":{"
                                "\"tokens\":[\"\xEF\xBF\xBD\",\"\xEF\xBF\xBD\",\"b\"],"
                                "\"token_logprobs\":[-1.0,-2.0,-3.0],\"top_logprobs\":[{\"a\":-"
                                "0.5},"
                                "null,null],\"text_offset\":[0,0,1]},\"finish_reason\":"
                                "\"stop\"}],"
                                "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":3,"
                                "\"total_tokens\":6}}\n");
    str_fini(&out);
    answer_choice_fini(&choice);
    tokenizer_destroy(&tokenizer);
}

/* Of tokens that look alike, as parts of characters do, the likeliest is told. */
static void test_alike(void **state)
{
    (void)state;
    err_t err = {0};
    str_t out = {0};
    tokenizer_t *tokenizer = tokenizer_new("byte", NULL, 0, &err);
    answer_choice_t choice = {0};
    const writer_token_t token = {0xE2, -0.5, 3, {0xE2, 'a', 0x9D}, {-0.5, -2, -4}};
    answer_add(&head, &choice, tokenizer, "", 0, &token, WRITER_GOES_ON);
    answer_whole(&head, &choice, 1, (answer_usage_t){3, choice.n_tokens}, &out);
    assert_non_null(
        strstr(str_text(&out), "\"top_logprobs\":[{\"\xEF\xBF\xBD\":-0.5,\"a\":-2.0}]"));
    str_fini(&out);
    answer_choice_fini(&choice);
    tokenizer_destroy(&tokenizer);
}

static void test_pieces(void **state)
{
    (void)state;
    err_t err = {0};
    str_t out = {0};
    tokenizer_t *tokenizer = tokenizer_new("byte", NULL, 0, &err);
    answer_choice_t choice = {.index = 1};
    answer_head_t chat = head;
    chat.chat = true;
    answer_begins(&chat, &choice, &out);
    answer_piece(&chat, &choice, tokenizer, "", 0, NULL, WRITER_GOES_ON, &out);
    answer_piece(&chat, &choice, tokenizer, "a\n", 2, NULL, WRITER_GOES_ON, &out);
    answer_piece(&chat, &choice, tokenizer, "", 0, NULL, WRITER_CONTEXT, &out);
    answer_done(&out);
#define EVENT(delta, reason)                                                              \
    "data: " HEAD("chat.completion.chunk") "\"choices\":[{\"index\":1,\"delta\":" delta   \
                                           ",\"logprobs\":null,\"finish_reason\":" reason \
                                           "}]}\n\n"
    assert_string_equal(str_text(&out), EVENT("{\"role\":\"assistant\",\"content\":\"\"}", "null")
                                            EVENT("{\"content\":\"a\\n\"}", "null")
                                                EVENT("{}", "\"length\"") "data: [DONE]\n\n");
    assert_int_equal(choice.n_tokens, 2);
    str_fini(&out);
    tokenizer_destroy(&tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_completion),    cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_prompts),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_deep),          cmocka_unit_test(test_templates),
        cmocka_unit_test(test_conversations), cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_answer),        cmocka_unit_test(test_alike),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
