/* One easy handle, used again so that its connection is. */
#include "metrics/track/poster.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

enum {
    CONNECT_MS = 5000,
    REQUEST_MS = 30000,
    ANSWER_BYTES = 4 << 20,
    SAID_BYTES = 200, /* of the server's words in errors */
};

struct poster {
    CURL *curl;
    char *base;
    struct curl_slist *headers;
    poster_options_t options;
    str_t answer;
    char why[CURL_ERROR_SIZE];
};

static bool is_this_machine(const char *host, size_t n)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && strncmp(host, names[i], n) == 0) return true;
    return false;
}

int poster_check(const char *base, bool has_token, err_t *err)
{
    bool secure = str_starts(base, "https://");
    if (!secure && !str_starts(base, "http://"))
        return err_set(err, ERR_ARG, "expected http://HOST or https://HOST");
    const char *host = base + (secure ? 8 : 7);
    size_t n = strcspn(host, "/?#");
    if (n == 0 || strpbrk(host, "?#"))
        return err_set(err, ERR_ARG, "an address is a host, perhaps a port and a path");
    if (memchr(host, '@', n))
        return err_set(err, ERR_ARG,
                       "no name or password in the address, which others can see: give a token");
    size_t name = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
    if (has_token && !secure && !is_this_machine(host, name))
        return err_set(err, ERR_ARG, "a token goes over https alone: http is read on the way");
    return 0;
}

static size_t take(char *bytes, size_t size, size_t n, void *user)
{
    poster_t *self = user;
    if (self->answer.n + size * n > ANSWER_BYTES) return 0; /* an error */
    str_addn(&self->answer, bytes, size * n);
    return size * n;
}

static int watch(void *user, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up)
{
    (void)down_all, (void)down, (void)up_all, (void)up;
    const poster_t *self = user;
    return self->options.stopped && self->options.stopped(self->options.user);
}

static void configure(poster_t *self)
{
    curl_easy_setopt(self->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(self->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(self->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(self->curl, CURLOPT_TIMEOUT_MS, (long)REQUEST_MS);
    curl_easy_setopt(self->curl, CURLOPT_ERRORBUFFER, self->why);
    curl_easy_setopt(self->curl, CURLOPT_HTTPHEADER, self->headers);
    curl_easy_setopt(self->curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(self->curl, CURLOPT_WRITEDATA, self);
    curl_easy_setopt(self->curl, CURLOPT_XFERINFOFUNCTION, watch);
    curl_easy_setopt(self->curl, CURLOPT_XFERINFODATA, self);
    curl_easy_setopt(self->curl, CURLOPT_NOPROGRESS, 0L);
}

poster_t *poster_new(const poster_options_t *options, err_t *err)
{
    poster_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    self->curl = curl_easy_init();
    if (!self->curl) {
        err_set(err, ERR_STATE, "libcurl gives no handle");
        poster_destroy(&self);
        return NULL;
    }
    self->base = mem_strdup(options->base);
    size_t n = strlen(self->base);
    while (n > 0 && self->base[n - 1] == '/') self->base[--n] = '\0';
    self->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (options->token) {
        char *line = mem_printf("Authorization: Bearer %s", options->token);
        self->headers = curl_slist_append(self->headers, line);
        free(line);
    }
    configure(self);
    return self;
}

void poster_destroy(poster_t **self_p)
{
    poster_t *self = *self_p;
    if (!self) return;
    *self_p = NULL;
    curl_slist_free_all(self->headers);
    if (self->curl) curl_easy_cleanup(self->curl);
    str_fini(&self->answer);
    free(self->base);
    free(self);
}

/* The server's own words, or the beginning of what it says. */
static int refused(const poster_t *self, const char *path, long status, const json_t *json,
                   err_t *err)
{
    const char *said = json_string_value(json_object_get(json, "message"));
    char words[SAID_BYTES];
    utf8_cut(words, sizeof words, said ? said : str_text(&self->answer));
    err_code_t code = status == 404                    ? ERR_IO
                      : status >= 500 || status == 429 ? ERR_NET
                      : status >= 400                  ? ERR_ARG
                                                       : ERR_NET;
    return err_set(err, code, "%.*s: status %ld: %s", (int)strcspn(path, "?"), path, status, words);
}

static int perform(poster_t *self, const char *path, long *status, err_t *err)
{
    self->answer.n = 0;
    if (self->answer.at) *self->answer.at = '\0';
    *self->why = '\0';
    CURLcode code = curl_easy_perform(self->curl);
    if (code == CURLE_OK) {
        curl_easy_getinfo(self->curl, CURLINFO_RESPONSE_CODE, status);
        return 0;
    }
    if (code == CURLE_ABORTED_BY_CALLBACK) return err_set(err, ERR_STATE, "stopped");
    return err_set(err, ERR_NET, "%.*s: %s", (int)strcspn(path, "?"), path,
                   *self->why ? self->why : curl_easy_strerror(code));
}

int poster_ask(poster_t *self, const char *path, const json_t *body, json_t **answer, err_t *err)
{
    char *url = mem_printf("%s/%s", self->base, path);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    long status = 0;
    if (answer) *answer = NULL;
    curl_easy_setopt(self->curl, CURLOPT_URL, url);
    if (text) {
        curl_easy_setopt(self->curl, CURLOPT_POSTFIELDSIZE, (long)strlen(text));
        curl_easy_setopt(self->curl, CURLOPT_POSTFIELDS, text);
    } else {
        curl_easy_setopt(self->curl, CURLOPT_HTTPGET, 1L);
    }
    int rc = body && !text ? err_set(err, ERR_ARG, "%s: a text that is no UTF-8", path)
                           : perform(self, path, &status, err);
    json_t *json = rc == 0 ? json_loadb(str_text(&self->answer), self->answer.n, 0, NULL) : NULL;
    if (rc == 0 && (status != 200 || !json_is_object(json)))
        rc = refused(self, path, status, json, err);
    if (rc == 0 && answer)
        *answer = json;
    else
        json_decref(json);
    free(text);
    free(url);
    return rc;
}

char *poster_escape(poster_t *self, const char *text)
{
    return curl_easy_escape(self->curl, text, 0);
}

void poster_free(char *escaped)
{
    curl_free(escaped);
}
