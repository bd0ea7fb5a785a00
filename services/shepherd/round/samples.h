/* Samples: texts that the model writes by the parameters after every so many rounds (sample_every). A
 * compiler writes them beside the training; nothing waits for one but the run's end, and that not for
 * long. What cannot be had is told, and left out. */
#ifndef SHEPHERD_SAMPLES_H
#define SHEPHERD_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/envelope.h"

typedef struct shepherd shepherd_t;

typedef struct {
    uint32_t round;    /* finished, after which the text is written; 0: none is wanted */
    uint32_t compiler; /* serial of who was asked; 0: nobody yet */
    int64_t since_ms;
    uint32_t next; /* due while another one is being written; 0: none */
} samples_t;

void samples_want(shepherd_t *self);     /* a round is committed: is a sample due? */
void samples_dispatch(shepherd_t *self); /* to a compiler that is here; or give it up */
void samples_forget_compiler(shepherd_t *self, uint32_t serial); /* it is gone */
bool samples_awaited(const shepherd_t *self);                    /* by the end of the run */
void on_sampled(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
