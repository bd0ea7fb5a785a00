/* The services of one run as child processes over ipc:// sockets. */
#ifndef PCP_TRAIN_PROCESSES_H
#define PCP_TRAIN_PROCESSES_H

#include "base/children.h"
#include "pcp/train_prepare.h"

#define TRAIN_SUPERVISOR "local" /* its workers are local-w0, local-w1, ... */
enum { TRAIN_GRACE_S = 8 };      /* a worker may take so long to end its step */

/* ERR_STATE: the services' programs are not beside this one, as in an image of the command line. */
int train_processes_there(bool page, err_t *err);

/* Start the shepherd; then, once it answers, aggregators, compiler and supervisor: so nothing
 * happens before the caller can hear of it. Programs are found beside this one. The caller stops
 * and reaps the children, also after an error. */
int train_processes_shepherd(const train_config_t *config, const train_prepared_t *prepared,
                             children_t *children, err_t *err);
int train_processes_members(const train_config_t *config, const train_prepared_t *prepared,
                            children_t *children, err_t *err);
/* `pcp-<service>` in the folder that this program was started from. Returns, caller frees. */
char *train_processes_beside(const char *service);

/* Start one of them again, by its name as a child. */
int train_processes_again(const train_config_t *config, const train_prepared_t *prepared,
                          children_t *children, const char *name, err_t *err);

#endif
