/* The messages of a chat, from JSON. Internal to serve/request.c. */
#ifndef SERVE_MESSAGES_H
#define SERVE_MESSAGES_H

#include <jansson.h>

#include "serve/request.h"

/* -1: *refusal says why. What was read until then is in *list, too; messages_free frees it. */
int messages_read(const json_t *value, request_message_t **list, size_t *n, refusal_t *refusal);
void messages_free(request_message_t *list, size_t n);

#endif
