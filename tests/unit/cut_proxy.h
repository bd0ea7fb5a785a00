/* A TCP relay between a client and a PostgreSQL server that cuts the connection at a COMMIT: before
 * the server has seen it, or after the server has answered and before the client hears so; or
 * relays nothing any more from then on, as when a machine vanishes without a word. */
#ifndef TESTS_CUT_PROXY_H
#define TESTS_CUT_PROXY_H

typedef struct cut_proxy cut_proxy_t;

typedef enum { CUT_NOT, CUT_BEFORE, CUT_AFTER, CUT_STALL } cut_t;

/* Relays 127.0.0.1:port to the server's port, one connection at a time; the first that prepares a
 * COMMIT is cut when it runs it, later ones are left alone. */
cut_proxy_t *cut_proxy_new(int server_port, cut_t cut);
int cut_proxy_port(const cut_proxy_t *self);
int cut_proxy_cuts(const cut_proxy_t *self); /* how many connections were cut */
void cut_proxy_destroy(cut_proxy_t **self_p);

#endif
