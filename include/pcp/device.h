/* Devices of this machine. */
#ifndef PCP_DEVICE_H
#define PCP_DEVICE_H

#include <pcp/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pcp_devices pcp_devices_t;

/* A list of them; `what` as pcp train --devices has it: NULL or "all" for one of each device that has a processor of its own and the
 * machine's processor, or "cpu,cuda:0,1". "all" asks the drivers, which takes as long as they do. Never empty. */
pcp_devices_t *pcp_devices_new(const char *what, pcp_error_t *error);
void pcp_devices_destroy(pcp_devices_t **self_p);

int pcp_devices_count(const pcp_devices_t *self);
/* Of the i-th: its name, as pcp_compile and pcp_session_new take it; what it is, for people; the best target that it runs, NULL if
 * none; its memory in bytes. NULL and 0 where there is none. Borrowed. */
const char *pcp_devices_name(const pcp_devices_t *self, int i);
const char *pcp_devices_text(const pcp_devices_t *self, int i);
const char *pcp_devices_target(const pcp_devices_t *self, int i);
uint64_t pcp_devices_memory(const pcp_devices_t *self, int i);

#ifdef __cplusplus
}
#endif
#endif
