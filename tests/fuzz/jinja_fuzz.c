/* Fuzz target: chat templates. One is parsed or refused with words and a line; what it makes of a chat is
 * bounded, and the same twice; and no template takes more memory than its bounds say. */
#include "serve/jinja.h"

#include "alloc_bound.h"
#include "fuzz.h"

/* A byte of a template becomes a token and a node; a value that is printed lies in a text, twice. */
enum { JINJA_MULTIPLE = 2048, JINJA_CONSTANT = 1 << 20 };

static const char chat[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"S \\u00e9\"}, {\"role\": \"user\", "
    "\"content\": \"A\"}, {\"role\": \"assistant\", \"content\": [1, 2.5, null, true, {\"a\": "
    "{}}]}], "
    "\"bos_token\": \"<s>\", \"add_generation_prompt\": true, \"n\": 3, \"tools\": null}";

static int jinja_once(const jinja_t *jinja, const json_t *variables, str_t *out, err_t *err)
{
    int status = jinja_render(jinja, variables, 0, out, err);
    if (status < 0 && (out->n > 0 || !strstr(err->text, "line ")))
        broken("an error has a line, and no text", err->text);
    if (out->n > JINJA_OUTPUT_BYTES) broken("the output is bounded", "");
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err_t err = {0}, again = {0};
    str_t a = {0}, b = {0};
    alloc_bound_begin("template", JINJA_MULTIPLE, n, JINJA_CONSTANT);
    jinja_t *jinja = jinja_parse((const char *)data, n, &err);
    alloc_bound_end();
    if (!jinja && !strstr(err.text, "line ") && n <= JINJA_SOURCE_BYTES)
        broken("a refusal has a line", err.text);
    json_t *variables = json_loads(chat, 0, NULL);
    if (jinja && jinja_once(jinja, variables, &a, &err) != jinja_once(jinja, variables, &b, &again))
        broken("a template fails twice, or never", err.text);
    if (strcmp(str_text(&a), str_text(&b)) != 0) broken("a template makes one text", "");
    json_decref(variables);
    jinja_destroy(&jinja);
    str_fini(&a);
    str_fini(&b);
    return 0;
}
