/* A small aggregator for tests of its clients: one shard in a thread of its own that serves the
 * same parameters for every round, keeps objects and the last pseudo-gradient, and misbehaves when
 * told to. */
#ifndef TESTS_DATA_SERVER_H
#define TESTS_DATA_SERVER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct data_server data_server_t;

/* Binds the endpoint; theta is borrowed. */
data_server_t *data_server_new(const char *endpoint, const float *theta, uint64_t n);
void data_server_destroy(data_server_t **self_p);

/* What becomes of the next n requests. */
typedef enum { SERVER_SILENT, SERVER_NOT_READY } server_fault_t;
void data_server_fault(data_server_t *self, server_fault_t fault, int n);
/* With the next request it vanishes from its endpoint and is back after so long, without objects.
 */
void data_server_vanish(data_server_t *self, int ms);

/* After so many chunks of objects it forgets all objects, once. */
void data_server_forget(data_server_t *self, int n);
/* From now on payloads take their time, each after the other: so many bytes a second. 0: none. */
void data_server_pace(data_server_t *self, double bytes_per_s);
/* Payload bytes that came and went since the last call. */
uint64_t data_server_traffic(data_server_t *self);

/* The last pseudo-gradient (n values), decoded. Returns how many were complete so far. */
typedef struct {
    uint32_t round, replica, fence;
    uint64_t weight;
    const float *values;
} server_delta_t;
int data_server_delta(data_server_t *self, server_delta_t *out);
int data_server_objects(data_server_t *self); /* how many are complete */

#endif
