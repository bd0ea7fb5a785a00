/* Initial values of parameters from a safetensors file that others have written. */
#ifndef PCP_INIT_FILE_H
#define PCP_INIT_FILE_H

#include "ckpt/safetensors.h"

/* The tensor for the parameter `name`, the number'th of those that are kept (parameters, frozen
 * values, states), from 0. In this order:
 *   1. the tensor of that name
 *   2. the only one with the same words: params['dense']['kernel'] is dense.kernel and
 *      params/dense/kernel; a first word params, param or model counts for nothing
 *   3. the one whose name is the number, or arg<number>
 * Borrowed from the file. NULL: none of them, or ERR_ARG: several have the same words. */
const safetensor_t *init_file_find(const safetensors_t *file, const char *name, int number,
                                   err_t *err);

#endif
