/* Tokens in a temporary file, cut in two at the end. */
#include "pcp/token_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/token_bytes.h"

token_file_t *token_file_new(const char *path, err_t *err)
{
    token_file_t *self = mem_calloc(1, sizeof *self);
    self->fd = file_open_temporary(path, 0644, &self->temporary, err);
    if (self->fd < 0) {
        free(self);
        return NULL;
    }
    self->path = mem_strdup(path);
    self->bytes = (size_t)token_bytes_named(path);
    self->limit = self->bytes == 4 ? TOKEN_LIMIT : (uint32_t)1 << 8 * self->bytes;
    return self;
}

static int disk_full(const token_file_t *self, err_t *err)
{
    return err_set(err, ERR_IO,
                   "%s: the disk is full after %zu MB of tokens: make room, or choose another "
                   "--run-dir",
                   self->path, self->n * self->bytes / 1000000);
}

static int flush(token_file_t *self, err_t *err)
{
    size_t n = self->n_buffer;
    self->n_buffer = 0;
    if (file_write_all(self->fd, self->buffer, n, self->path, err) == 0) return 0;
    return errno == ENOSPC || errno == EDQUOT ? disk_full(self, err) : -1;
}

/* The host is little-endian (base/file.h's users rely on it for tensors, too). */
static int add(token_file_t *self, uint32_t token, err_t *err)
{
    uint32_t value = token & ~TOKEN_SILENT; /* of one or two bytes it has no such bit */
    if (value > self->top) self->top = value;
    memcpy(self->buffer + self->n_buffer, &token, self->bytes);
    self->n_buffer += self->bytes;
    self->n++;
    return self->n_buffer == TOKEN_FILE_BUFFER ? flush(self, err) : 0;
}

int token_file_add(token_file_t *self, const uint32_t *tokens, size_t n, err_t *err)
{
    for (size_t i = 0; i < n; i++)
        if (add(self, tokens[i], err) < 0) return -1;
    return 0;
}

int token_file_add_u16(token_file_t *self, const uint16_t *tokens, size_t n, err_t *err)
{
    for (size_t i = 0; i < n; i++)
        if (add(self, tokens[i], err) < 0) return -1;
    return 0;
}

/* Bytes from `at` to the end, to another file. */
static int copy_rest(token_file_t *self, off_t at, int to, const char *path, err_t *err)
{
    for (;;) {
        ssize_t n = pread(self->fd, self->buffer, sizeof self->buffer, at);
        if (n < 0) return err_set_errno(err, "%s", self->path);
        if (n == 0) return 0;
        if (file_write_all(to, self->buffer, (size_t)n, path, err) < 0) return -1;
        at += n;
    }
}

static int keep_rest(token_file_t *self, off_t at, const char *path, err_t *err)
{
    char *temporary = NULL;
    int fd = file_open_temporary(path, 0644, &temporary, err);
    if (fd < 0) return -1;
    int rc = copy_rest(self, at, fd, path, err);
    if (rc == 0) {
        rc = file_commit(fd, temporary, path, err);
    } else {
        unlink(temporary);
        close(fd);
    }
    free(temporary);
    return rc;
}

int token_file_keep(token_file_t *self, size_t n_rest, const char *rest, err_t *err)
{
    off_t at = (off_t)((self->n - n_rest) * self->bytes);
    if (flush(self, err) < 0 || keep_rest(self, at, rest, err) < 0) return -1;
    if (ftruncate(self->fd, at) < 0) return err_set_errno(err, "%s", self->path);
    int fd = self->fd;
    self->fd = -1;
    return file_commit(fd, self->temporary, self->path, err);
}

void token_file_drop(token_file_t **self_p)
{
    token_file_t *self = *self_p;
    if (!self) return;
    if (self->fd >= 0) {
        unlink(self->temporary);
        close(self->fd);
    }
    free(self->temporary);
    free(self->path);
    free(self);
    *self_p = NULL;
}
