/* Lists of devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "runtime/device.h"

typedef struct {
    device_name_t *out;
    int n, most;
    uint8_t (*uuid)[16]; /* [n] of those that `all` found */
} list_t;

static int add(list_t *self, const char *kind, size_t n_kind, const char *rest, err_t *err)
{
    if (self->n == self->most) return err_set(err, ERR_ARG, "more than %d devices", self->most);
    device_name_t *name = &self->out[self->n];
    size_t room = sizeof name->text;
    int n = snprintf(name->text, room, "%.*s%s%s", (int)n_kind, kind, n_kind > 0 ? ":" : "", rest);
    if (n < 0 || (size_t)n >= room)
        return err_set(err, ERR_ARG, "device \"%s\": at most %zu letters", rest, room - 1);
    self->n++;
    return 0;
}

static bool is_known(const list_t *self, const uint8_t uuid[16])
{
    static const uint8_t none[16];
    if (memcmp(uuid, none, sizeof none) == 0) return false;
    for (int i = 0; i < self->n; i++)
        if (memcmp(self->uuid[i], uuid, sizeof none) == 0) return true;
    return false;
}

/* Kinds that are faster stand before others in device.c's table. */
static int add_all(list_t *self, err_t *err)
{
    const device_ops_t *ops;
    device_info_t info;
    int status = 0;
    self->uuid = mem_calloc((size_t)self->most, sizeof *self->uuid);
    for (int i = 0; status == 0 && (ops = device_row(i)); i++)
        for (int ordinal = 0; status == 0 && ops->info(ordinal, &info); ordinal++) {
            char number[16];
            if (!info.target || info.borrowed || is_known(self, info.uuid)) continue;
            snprintf(number, sizeof number, "%d", ordinal);
            status = add(self, ops->prefix, strlen(ops->prefix), number, err);
            if (status == 0) memcpy(self->uuid[self->n - 1], info.uuid, sizeof info.uuid);
        }
    free(self->uuid);
    self->uuid = NULL;
    return status;
}

static int add_listed(list_t *self, const char *text, err_t *err)
{
    const char *kind = NULL; /* of the device before */
    size_t n_kind = 0;
    for (const char *at = text;;) {
        size_t n = strcspn(at, ",");
        char word[sizeof self->out->text];
        if (n == 0 || n >= sizeof word)
            return err_set(err, ERR_ARG, "devices \"%s\": give all, or names such as cpu,vulkan:0",
                           text);
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        bool number = strspn(word, "0123456789") == n;
        if (number && !kind)
            return err_set(err, ERR_ARG, "devices \"%s\": %s is a device of which kind?", text,
                           word);
        if (!number) {
            kind = at;
            n_kind = strcspn(at, ":,@");
            if (!device_find(word, err)) {
                if (err) err->code = ERR_ARG;
                return -1;
            }
        }
        if (add(self, kind, number ? n_kind : 0, word, err) < 0) return -1;
        if (!at[n]) return 0;
        at += n + 1;
    }
}

int device_names(const char *list, device_name_t *out, int most, err_t *err)
{
    list_t self = {.out = out, .most = most};
    int status = strcmp(list, "all") == 0 ? add_all(&self, err) : add_listed(&self, list, err);
    return status < 0 ? -1 : self.n;
}
