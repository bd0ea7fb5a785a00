/* What the subcommands that talk to a cluster listen to: a table each. */
#ifndef PCP_ROUTES_H
#define PCP_ROUTES_H

#include "msg/envelope.h"

extern const msg_route_t train_routes[MSG_KIND_COUNT];          /* cmd_train.c */
extern const msg_route_t checkpoint_now_routes[MSG_KIND_COUNT]; /* checkpoint_now.c */
extern const msg_route_t cmd_worker_routes[MSG_KIND_COUNT];     /* cmd_worker.c */
extern const msg_route_t run_talk_routes[MSG_KIND_COUNT];       /* run_talk.c */

#endif
