/* Secrets of URLs, of files. */
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { LINE = 4096 };

int secret_kind(const char *url)
{
    size_t n = strcspn(url, ":@=/?&");
    if (url[n] && url[n] != ':') n = 0; /* "PASSWORD@HOST" */
    return n < 20 ? (int)n : 20;
}

static const char *last_at(const char *text, const char *stop)
{
    const char *at = NULL; /* the last: an unescaped @ in a password is still a password */
    for (size_t i = 0, n = strcspn(text, stop); i < n; i++)
        if (text[i] == '@') at = text + i;
    return at;
}

const char *secret_next(const char *url, const char *from, size_t *n)
{
    bool redis = strncmp(url, "redis://", 8) == 0;
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    const char *at = last_at(host, "/?");
    if (!at && *host != '/') at = last_at(host, "?"); /* nor does a slash end it */
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    if (colon && colon >= from) {
        *n = (size_t)(at - colon - 1);
        return colon + 1;
    }
    /* Without a colon it is no user there, but a password. */
    if (redis && at > host && !colon && host >= from) {
        *n = (size_t)(at - host);
        return host;
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

/* What was read of files at the start of this program; then it is only read. */
static struct kept {
    struct kept *next;
    char *text, *origin;
} * kept;

void secret_keep(const char *text, const char *path)
{
    struct kept *one = mem_calloc(1, sizeof *one);
    *one = (struct kept){kept, mem_strdup(text), mem_printf("@%s", path)};
    kept = one;
}

const char *secret_origin(const char *text)
{
    for (const struct kept *one = kept; one; one = one->next)
        if (strcmp(one->text, text) == 0) return one->origin;
    return NULL;
}

char *secret_again(const char *text)
{
    const char *origin = secret_origin(text);
    char *now = origin ? secret_read(origin + 1, NULL) : NULL;
    return now ? now : mem_strdup(text);
}

/* Who but its owner may read or write it. The group of a file of root's is one that root has chosen: so
 * come secrets into the containers of Kubernetes, whose users do not own them. */
static bool is_open(const struct stat *info)
{
    bool given = info->st_uid == 0 && geteuid() != 0;
    return info->st_mode & (given ? 037 : 077);
}

char *secret_file(const char *path, size_t most, size_t *n, err_t *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0) {
        err_set_errno(err, "%s", path);
        if (fd >= 0) close(fd);
        return NULL;
    }
    char *text = NULL;
    if (!S_ISREG(info.st_mode)) {
        err_set(err, ERR_ARG, "%s is no file", path);
    } else if (is_open(&info)) {
        err_set(err, ERR_ARG, "%s may be read by others (mode %03o): chmod 600 %s", path,
                (unsigned)info.st_mode & 0777, path);
    } else {
        text = mem_calloc(1, most + 2);
        ssize_t got = read(fd, text, most + 1);
        if (got < 0 || (size_t)got > most) {
            if (got < 0) err_set_errno(err, "%s", path);
            if (got >= 0) err_set(err, ERR_ARG, "%s has more than %zu bytes", path, most);
            free(text);
            text = NULL;
        } else {
            *n = (size_t)got;
        }
    }
    close(fd);
    return text;
}
