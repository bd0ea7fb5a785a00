/* Devices of this machine: names that compiling and sessions take, and what drivers say of them. */
#include "runtime/device.h"
#include "api/api.h"

enum { MOST = 64 };

typedef struct {
    device_name_t name;
    device_info_t info;
    const char *target; /* NULL: none */
} one_t;

struct pcp_devices {
    int n;
    one_t at[MOST];
};

pcp_devices_t *pcp_devices_new(const char *what, pcp_error_t *error)
{
    err_t *err = api_err(error);
    device_name_t names[MOST];
    int n = device_names(what ? what : "all", names, MOST, err);
    if (n < 0) return NULL;
    pcp_devices_t *self = api_alloc(sizeof *self);
    for (int i = 0; i < n; i++) {
        device_place_t place;
        one_t *one = &self->at[i];
        one->name = names[i];
        if (device_place(names[i].text, &place, err) < 0 ||
            device_look(&place, &one->info, err) < 0) {
            pcp_devices_destroy(&self);
            return NULL;
        }
        one->target = place.target;
    }
    self->n = n;
    return self;
}

void pcp_devices_destroy(pcp_devices_t **self_p)
{
    if (!self_p || !*self_p) return;
    api_free(*self_p, sizeof **self_p);
    *self_p = NULL;
}

int pcp_devices_count(const pcp_devices_t *self)
{
    return self->n;
}

static const one_t *at(const pcp_devices_t *self, int i)
{
    return i >= 0 && i < self->n ? &self->at[i] : NULL;
}

const char *pcp_devices_name(const pcp_devices_t *self, int i)
{
    const one_t *one = at(self, i);
    return one ? one->name.text : NULL;
}

const char *pcp_devices_text(const pcp_devices_t *self, int i)
{
    const one_t *one = at(self, i);
    return one ? one->info.text : NULL;
}

const char *pcp_devices_target(const pcp_devices_t *self, int i)
{
    const one_t *one = at(self, i);
    return one ? one->target : NULL;
}

uint64_t pcp_devices_memory(const pcp_devices_t *self, int i)
{
    const one_t *one = at(self, i);
    return one ? one->info.memory_bytes : 0;
}
