/* Random numbers from the system, for names and numbers that nobody else may have: another process,
 * container or machine with the same process number makes other ones. Unlike rng.h, never the same
 * twice; not for anything that a run must repeat. Any thread. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

void random_fill(void *bytes, size_t n);
uint64_t random_u64(void);   /* never 0 */
double random_uniform(void); /* [0, 1) */

/* n lower-case hex digits and NUL: 4 n random bits. */
void random_hex(char *text, size_t n);

#endif
