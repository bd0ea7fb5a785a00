/* The page of a run of pcp train, and its tracker: pcp-metrics, which reads the run's records. */
#ifndef PCP_TRAIN_PAGE_H
#define PCP_TRAIN_PAGE_H

#include "base/children.h"
#include "pcp/train_config.h"

#define TRAIN_PAGE "page" /* its name as a child */

/* Start it, with config->web the page on config->web_port of 127.0.0.1 (0: any that is free); *port: which it is. `sockets`: the
 * folder with the shepherd's. ERR_NET: the port is taken.
 * The tracker's token leaves our environment: nobody else whom we start is to have it. */
int train_page_start(const train_config_t *config, const char *sockets, children_t *children,
                     unsigned *port, err_t *err);

#endif
