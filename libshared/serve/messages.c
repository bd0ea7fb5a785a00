/* Messages: a role, and a text or parts of one. */
#include "serve/messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { BAD_REQUEST = 400, MOST_MESSAGES = 4096 };

#define REFUSE(refusal, ...) \
    refuse(refusal, BAD_REQUEST, "invalid_request_error", "messages", NULL, __VA_ARGS__)

/* The role by the name that templates have; NULL: it is none. */
static const char *role_of(const char *role)
{
    static const char *const roles[][2] = {{"system", "system"},
                                           {"developer", "system"},
                                           {"user", "user"},
                                           {"assistant", "assistant"}};
    for (size_t i = 0; role && i < sizeof roles / sizeof *roles; i++)
        if (strcmp(role, roles[i][0]) == 0) return roles[i][1];
    return NULL;
}

static int add_part(str_t *text, const json_t *part, size_t i, size_t k, refusal_t *refusal)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    const json_t *words = json_object_get(part, "text");
    if (!type || strcmp(type, "text") != 0)
        return REFUSE(refusal, "messages[%zu].content[%zu]: only parts of type \"text\" are read",
                      i, k);
    if (!json_is_string(words))
        return REFUSE(refusal, "messages[%zu].content[%zu].text must be a string", i, k);
    str_addn(text, json_string_value(words), json_string_length(words));
    return 0;
}

static int read_content(const json_t *content, size_t i, str_t *text, refusal_t *refusal)
{
    if (json_is_string(content)) {
        str_addn(text, json_string_value(content), json_string_length(content));
        return 0;
    }
    if (!json_is_array(content))
        return REFUSE(refusal, "messages[%zu].content must be a string or a list of parts", i);
    for (size_t k = 0; k < json_array_size(content); k++)
        if (add_part(text, json_array_get(content, k), i, k, refusal) < 0) return -1;
    return 0;
}

static int read_message(const json_t *item, size_t i, request_message_t *out, refusal_t *refusal)
{
    const json_t *role = json_object_get(item, "role"), *tools;
    const char *known = role_of(json_string_value(role));
    str_t text = {0};
    if (!json_is_object(item)) return REFUSE(refusal, "messages[%zu] must be an object", i);
    if (!json_is_string(role)) return REFUSE(refusal, "messages[%zu].role must be a string", i);
    if (!known)
        return REFUSE(refusal,
                      "messages[%zu].role \"%.40s\" is not supported here: system, user "
                      "or assistant",
                      i, json_string_value(role));
    tools = json_object_get(item, "tool_calls");
    if (json_array_size(tools) > 0)
        return REFUSE(refusal, "messages[%zu].tool_calls are not supported here", i);
    if (read_content(json_object_get(item, "content"), i, &text, refusal) < 0) {
        str_fini(&text);
        return -1;
    }
    *out = (request_message_t){mem_strdup(known), mem_strdup(str_text(&text))};
    str_fini(&text);
    return 0;
}

int messages_read(const json_t *value, request_message_t **list, size_t *n, refusal_t *refusal)
{
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count == 0)
        return REFUSE(refusal, "messages must be a list of at least one message");
    if (count > MOST_MESSAGES)
        return REFUSE(refusal, "messages has %zu of them, at most %d are read", count,
                      MOST_MESSAGES);
    *list = mem_calloc(count, sizeof **list);
    for (size_t i = 0; i < count; i++, ++*n)
        if (read_message(json_array_get(value, i), i, &(*list)[i], refusal) < 0) return -1;
    return 0;
}

void messages_free(request_message_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i].role);
        free(list[i].content);
    }
    free(list);
}
