/* The device by flags. */
#include "worker/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "codegen/target.h"

static int take_target(const worker_config_t *config, device_place_t *place, err_t *err)
{
    const target_t *target = target_find(config->target, err);
    if (!target) return -1;
    size_t n = strlen(place->ops->prefix);
    if (strncmp(target->name, place->ops->prefix, n) != 0 || target->name[n] != ':')
        return err_set(err, ERR_ARG, "--device %s does not run --target %s", config->device,
                       config->target);
    place->target = target->name;
    return 0;
}

int worker_place(worker_config_t *config, device_place_t *place, device_info_t *info, err_t *err)
{
    const char *named = config->device   ? config->device
                        : config->target ? config->target
                                         : target_host();
    if (device_place(named, place, err) < 0) return -1;
    if (config->device && config->target && take_target(config, place, err) < 0) return -1;
    if (target_runs_here(place->target, err) < 0 || device_look(place, info, err) < 0) return -1;
    utf8_plain(info->text, false); /* a driver's text is anything, and goes into HELLO */
    free(config->target);
    config->target = mem_strdup(place->target);
    return 0;
}
