/* Secrets of URLs, of files. */
#include "base/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

enum { LINE = 4096 };

static const char *last_at(const char *text, const char *stop)
{
    const char *at = NULL; /* the last: an unescaped @ in a password is still a password */
    for (size_t i = 0, n = strcspn(text, stop); i < n; i++)
        if (text[i] == '@') at = text + i;
    return at;
}

const char *secret_next(const char *url, const char *from, size_t *n)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    const char *at = last_at(host, "/?");
    if (!at && *host != '/') at = last_at(host, "?"); /* nor does a slash end it */
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    if (colon && colon >= from) {
        *n = (size_t)(at - colon - 1);
        return colon + 1;
    }
    const char *key = strstr(from, "password="); /* libpq takes it, too */
    if (!key) return NULL;
    key += strlen("password=");
    *n = strcspn(key, "&");
    return key;
}

bool secret_hide(char *url)
{
    size_t n;
    bool found = false;
    for (const char *at = url; (at = secret_next(url, at, &n)); at += n) {
        memset(url + (at - url), '*', n);
        found |= n > 0;
    }
    return found;
}

int secret_umask(err_t *err)
{
    const char *text = getenv("PCP_UMASK");
    if (!text || !*text) text = "077";
    if (strspn(text, "01234567") != strlen(text) || strtol(text, NULL, 8) > 077)
        return err_set(err, ERR_ARG,
                       "environment PCP_UMASK: \"%.20s\" is no octal number up to 077 (077: files "
                       "for this user alone, 027: for the group, too, 022: for everybody)",
                       text);
    umask((mode_t)strtol(text, NULL, 8));
    return 0;
}

char *secret_read(const char *path, err_t *err)
{
    char line[LINE];
    FILE *file = fopen(path, "re");
    if (!file) {
        err_set_errno(err, "cannot open %s", path);
        return NULL;
    }
    errno = 0;
    bool got = fgets(line, sizeof line, file) != NULL;
    int fault = errno;
    fclose(file);
    size_t n = got ? strcspn(line, "\r\n") : 0;
    bool whole = n < sizeof line - 1;
    line[got ? n : 0] = '\0';
    char *text = n > 0 && whole ? mem_strdup(line) : NULL;
    explicit_bzero(line, sizeof line);
    if (text) return text;
    if (!got && fault)
        err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(fault));
    else
        err_set(err, ERR_ARG, "%s: its first line is %s", path, whole ? "empty" : "too long");
    return NULL;
}
