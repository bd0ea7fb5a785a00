/* Who may ask: names and their access tokens, from a file. */
#ifndef HTTP_ACCESS_H
#define HTTP_ACCESS_H

#include <stdbool.h>

#include "base/err.h"

typedef struct access access_t;

/* A file of lines "NAME TOKEN"; empty ones and those that begin with # say nothing. It must be
 * private (secret_file). ERR_IO, ERR_ARG name file and line. */
access_t *access_open(const char *path, err_t *err);
void access_destroy(access_t **self_p);

/* To be called now and then: if the file has changed it is read again, and its tokens alone count from now on. Of a
 * file that cannot be read, or has none, those of before go on counting; the log says so (tokens_not_read), once for each
 * change. NULL has no file. True: other tokens may count now. */
bool access_refresh(access_t *self);
/* Has this name a token? */
bool access_has(const access_t *self, const char *name);

/* The name of who says this in Authorization (may be NULL): "Bearer TOKEN", or as browsers do,
 * "Basic BASE64", of any name, ":" and the token. NULL: nobody. The name lives as long as the list, though its token may
 * go. How long it takes does not tell how much of
 * a token is right. */
const char *access_name(const access_t *self, const char *authorization);

#endif
