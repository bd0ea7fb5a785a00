/* A driver's library by dlopen, and one device of it. */
#include "runtime/cuda/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    size_t at; /* in api_t */
    const char *symbol[2];
} function_t;

#define X(name, cuda, hip, parameters) {offsetof(api_t, name), {cuda, hip}},
static const function_t functions[] = {CU_FUNCTIONS(X)};
static const function_t graph_functions[] = {CU_GRAPH_FUNCTIONS(X)};
static const function_t event_functions[] = {CU_EVENT_FUNCTIONS(X)};
static const function_t error_functions[] = {CU_ERROR_FUNCTIONS(X)};
#undef X
enum {
    N_FUNCTION = sizeof functions / sizeof *functions,
    N_GRAPH_FUNCTION = sizeof graph_functions / sizeof *graph_functions,
    N_EVENT_FUNCTION = sizeof event_functions / sizeof *event_functions,
    N_ERROR_FUNCTION = sizeof error_functions / sizeof *error_functions,
};

/* The first that is missing; NULL: none. */
static const char *find(api_t *self, const function_t *function, int n)
{
    const char *missing = NULL;
    for (int i = 0; i < n; i++) {
        const char *symbol = function[i].symbol[self->driver->is_hip];
        void *at = *symbol ? dlsym(self->library, symbol) : NULL;
        memcpy((char *)self + function[i].at, &at, sizeof at);
        if (!at && *symbol && !missing) missing = symbol;
    }
    return missing;
}

static int load(api_t *self, err_t *err)
{
    const char *missing = find(self, functions, N_FUNCTION);
    if (missing)
        return err_set(err, ERR_UNSUPPORTED, "the %s driver has no %s", self->driver->title,
                       missing);
    self->has_graphs = !find(self, graph_functions, N_GRAPH_FUNCTION);
    self->has_events = !find(self, event_functions, N_EVENT_FUNCTION);
    find(self, error_functions, N_ERROR_FUNCTION);
    return 0;
}

/* Drivers have threads that would outlive them: what was loaded stays. */
static void *open_library(const driver_t *driver)
{
    const int how = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    const char *named = getenv(driver->variable);
    void *library = NULL;
    if (named && *named) return dlopen(named, how);
    for (int i = 0; !library && driver->library[i]; i++) library = dlopen(driver->library[i], how);
    return library;
}

int cuda_api_open(api_t *self, const driver_t *driver, err_t *err)
{
    *self = (api_t){.driver = driver, .library = open_library(driver)};
    if (!self->library)
        return err_set(err, ERR_UNSUPPORTED, "no %s driver: %s (install %s, or set %s)",
                       driver->title, dlerror(), driver->package, driver->variable);
    if (load(self, err) < 0) return -1;
    cu_result_t result = self->init(0);
    if (result == CU_NO_DEVICE || result == CU_INVALID_DEVICE)
        return err_set(err, ERR_UNSUPPORTED, "no %s driver finds a device here", driver->title);
    return cuda_api_check(self, result, "starting the driver", err);
}

void cuda_api_close(api_t *self)
{
    if (self->library) dlclose(self->library);
    *self = (api_t){0};
}

bool cuda_api_choose(api_t *self, int ordinal)
{
    int n = 0;
    if (self->device_count(&n) != CU_SUCCESS || ordinal < 0 || ordinal >= n) return false;
    return self->device_get(&self->device, ordinal) == CU_SUCCESS &&
           self->device_name(self->name, sizeof self->name, self->device) == CU_SUCCESS &&
           self->driver->look(self);
}

/* All later calls of the process say the same: another one has to begin. */
static bool is_lost(const api_t *self, cu_result_t result)
{
    if (result == CU_UNKNOWN)
        return self->name[0] != '\0'; /* before: a driver that does not start */
    if (result == CU_BAD_MEMORY || result == CU_BAD_LINK || result == CU_CONTAINED) return true;
    return result >= CU_FIRST_LOST && result <= CU_LAST_LOST && result != CU_TOO_LARGE;
}

int cuda_api_check(const api_t *self, cu_result_t result, const char *what, err_t *err)
{
    const char *name = NULL, *text = NULL, *device = self->name[0] ? self->name : "(none yet)";
    const char *title = self->driver->title;
    if (result == CU_SUCCESS) return 0;
    if (!self->error_name || self->error_name(result, &name) != CU_SUCCESS || !name) name = "error";
    if (!self->error_text || self->error_text(result, &text) != CU_SUCCESS || !text) text = "";
    if (result == CU_OUT_OF_MEMORY)
        return err_set(err, ERR_MEMORY, "%s device %s: %s: out of memory", title, device, what);
    if (is_lost(self, result))
        return err_set(err, ERR_DEVICE,
                       "%s device %s is lost (%s: %s %d, %s): what it had is gone and the process "
                       "has to start again",
                       title, device, what, name, result, text);
    return err_set(err, ERR_UNSUPPORTED, "%s device %s: %s: %s (%d): %s", title, device, what, name,
                   result, text);
}
