/* A filter of system calls, put together jump by jump; for the files of the cage. */
#ifndef BASE_CAGE_FILTER_H
#define BASE_CAGE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CAGE_FILTER_MOST = 192 };
typedef struct {
    struct sock_filter at[CAGE_FILTER_MOST];
    unsigned short n;
} cage_filter_t; /* zeroed */

/* The first: calls of another machine's kind end the process. The call's number is loaded here, and is so after
 * each of the others. */
void cage_filter_begin(cage_filter_t *self);

void cage_filter_add(cage_filter_t *self, uint16_t code, uint32_t k, uint8_t yes, uint8_t no);
void cage_filter_load(cage_filter_t *self, size_t offset); /* of struct seccomp_data */
void cage_filter_give(cage_filter_t *self, uint32_t verdict);

/* This call has this verdict. */
void cage_filter_call(cage_filter_t *self, int call, uint32_t verdict);
/* This call is allowed if argument 0 is one of these, else it has this verdict. */
void cage_filter_only(cage_filter_t *self, int call, const uint32_t *values, uint8_t n,
                      uint32_t verdict);

/* Put it on all threads, for good. *entered: false where the kernel has no filters, or somebody around us keeps
 * them to himself. -1 with ERR_STATE: it is too long; ERR_IO: the kernel refuses it. */
int cage_filter_enter(const cage_filter_t *self, bool *entered, err_t *err);

#endif
