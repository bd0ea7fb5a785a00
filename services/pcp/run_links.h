/* pcp run watch --links: what each worker of a round spent its time on. */
#ifndef PCP_RUN_LINKS_H
#define PCP_RUN_LINKS_H

#include <jansson.h>

#include "proto/telemetry.pb-c.h"

enum { RUN_LINKS_COLUMNS = 72 };

/* One line of JSON: {"round": 3, "leases": 2, "links": [{"worker": "w0", "down_mbits": 9.8, ...}]}; what is unknown
 * is null. Returns; caller frees. */
char *run_links_json(const Msg__Links *links);

/* A table of at most RUN_LINKS_COLUMNS columns, lines by '\n'. Returns; caller frees. */
char *run_links_table(const Msg__Links *links);

#endif
