/* bench-curve: what CURVE costs a connection over loopback TCP. Bulk: messages of 1 MiB, eight on the
 * way, as a data client's; small: messages of 200 bytes there and back, one at a time, and 64 on
 * the way. The same processes with and without keys, in turn; medians. The floor is the cipher:
 * XSalsa20-Poly1305 of libsodium on one core, once to seal and once to open. Both ends share this
 * machine, so that CPU seconds of each tell what a machine of its own would make of it. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/endpoint.h"
#include "msg/keyring.h"
#include "msg/service.h"

enum { TURNS = 5, MIB = 1 << 20 };

typedef struct {
    const char *name;
    size_t bytes, window;
    int n;
} load_t;
static const load_t loads[] = {{"1 MiB, 8 on the way", MIB, 8, 400},
                               {"200 bytes, 1 on the way", 200, 1, 5000},
                               {"200 bytes, 64 on the way", 200, 64, 40000}};
enum { LOADS = sizeof loads / sizeof *loads };

static void start(const char *key, int threads)
{
    err_t err = {0};
    const keyring_options_t options = {.key = key};
    log_init("bench", LOG_ERROR, LOG_LOGFMT);
    service_keep_buffers(); /* as services do */
    zsys_init();
    zsys_set_io_threads((size_t)threads);
    if (keyring_load(&options, &err) < 0 || keyring_start(&err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
}

/* Takes messages and answers each with one byte; until it is killed. */
static void sink(const char *endpoint, const char *key, int threads)
{
    start(key, threads);
    zsock_t *router = endpoint_open(endpoint_of_data(endpoint_bind(ZMQ_ROUTER, endpoint)), NULL);
    while (router) {
        zmsg_t *message = zmsg_recv(router);
        if (!message) break;
        zframe_t *from = zmsg_pop(message);
        zmsg_destroy(&message);
        zframe_send(&from, router, ZFRAME_MORE);
        zstr_send(router, "k");
    }
    _exit(0);
}

/* Seconds for one load. */
static double source(const char *endpoint, const char *key, int threads, const load_t *load)
{
    start(key, threads);
    zsock_t *dealer = endpoint_open(endpoint_of_data(endpoint_connect(ZMQ_DEALER, endpoint)), NULL);
    uint8_t *bytes = mem_calloc(1, load->bytes);
    double begin = 0;
    for (int sent = -1, taken = -1; taken < load->n;) { /* the first is the handshake's */
        bool more = sent < load->n && (size_t)(sent - taken) < load->window;
        if (sent == 0 && taken < 0) more = false;
        if (more) {
            zframe_t *frame = zframe_new(bytes, load->bytes);
            zframe_send(&frame, dealer, 0);
            sent++;
            continue;
        }
        char *answer = zstr_recv(dealer);
        if (!answer) _exit(1);
        free(answer);
        if (++taken == 0) begin = clock_mono_s();
    }
    return clock_mono_s() - begin;
}

typedef struct {
    double s;        /* on the clock */
    double cpu_s[2]; /* of who sends and of who takes */
} cost_t;

static double cpu_of(pid_t child)
{
    struct rusage usage = {0};
    wait4(child, NULL, 0, &usage);
    const struct timeval *u = &usage.ru_utime, *k = &usage.ru_stime;
    return (double)(u->tv_sec + k->tv_sec) + 1e-6 * (double)(u->tv_usec + k->tv_usec);
}

static cost_t measure(const char *server_key, const char *client_key, int threads,
                      const load_t *load)
{
    static int port;
    char endpoint[64];
    int pipes[2];
    cost_t cost = {0};
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d",
             20000 + ((int)getpid() * 7 + port++) % 20000);
    if (pipe(pipes) < 0) return cost;
    pid_t one = fork();
    if (one == 0) sink(endpoint, server_key, threads);
    pid_t two = fork();
    if (two == 0) {
        double s = source(endpoint, client_key, threads, load);
        _exit(write(pipes[1], &s, sizeof s) != sizeof s);
    }
    close(pipes[1]);
    if (read(pipes[0], &cost.s, sizeof cost.s) != sizeof cost.s) cost.s = 0;
    close(pipes[0]);
    cost.cpu_s[0] = cpu_of(two);
    kill(one, SIGKILL);
    cost.cpu_s[1] = cpu_of(one);
    return cost;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, TURNS, sizeof *values, ascending);
    return values[TURNS / 2];
}

/* GB/s of one core that seals what another has to open. */
static double cipher(void)
{
    uint8_t *from = mem_calloc(2, MIB), *to = from + MIB, key[32] = {1}, nonce[24] = {2};
    double begin = clock_mono_s();
    for (int i = 0; i < 200; i++) crypto_secretbox_easy(to, from, MIB - 64, nonce, key);
    double rate = 200.0 * MIB / (clock_mono_s() - begin) / 1e9;
    free(from);
    return rate;
}

static int write_key(const char *path, const keys_t *key)
{
    char *text = keys_write(key);
    FILE *file = fopen(path, "w");
    int rc = file && fputs(text, file) >= 0 && fchmod(fileno(file), 0600) == 0 ? 0 : -1;
    if (file) fclose(file);
    free(text);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        printf("usage: %s\nWhat CURVE costs, beside the same connection without.\n", argv[0]);
        return strcmp(argv[1], "--help") != 0;
    }
    char server[] = "/tmp/pcp-bench-s.XXXXXX", client[] = "/tmp/pcp-bench-c.XXXXXX";
    keys_authority_t authority;
    keys_t keys[2];
    keys_authority_new(&authority, INT32_MAX, &keys[0]);
    keys_issue(&authority, KEYS_WORKER, "bench", INT32_MAX, &keys[1], NULL);
    close(mkstemp(server));
    close(mkstemp(client));
    if (write_key(server, &keys[0]) < 0 || write_key(client, &keys[1]) < 0) return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("the cipher on one core: %.2f GB/s\n", cipher());
    for (int threads = 1; threads <= 4; threads *= 4)
        for (int l = 0; l < LOADS; l++) {
            const load_t *load = &loads[l];
            double s[2][TURNS], sends[2][TURNS], takes[2][TURNS];
            for (int t = 0; t < TURNS; t++)
                for (int k = 0; k < 2; k++) {
                    cost_t cost = measure(k ? server : NULL, k ? client : NULL, threads, load);
                    s[k][t] = cost.s;
                    sends[k][t] = cost.cpu_s[0];
                    takes[k][t] = cost.cpu_s[1];
                }
            double a = median(s[0]), b = median(s[1]), all = load->n, gb = all * MIB / 1e9;
            printf("%-26s %d I/O threads: %9.0f /s without, %9.0f /s with keys (%.0f %%)\n",
                   load->name, threads, all / a, all / b, 100 * a / b);
            if (load->bytes == MIB)
                printf("    %.2f and %.2f GB/s; CPU seconds a GB: %.2f and %.2f sending, %.2f and "
                       "%.2f taking\n",
                       gb / a, gb / b, median(sends[0]) / gb, median(sends[1]) / gb,
                       median(takes[0]) / gb, median(takes[1]) / gb);
        }
    unlink(server);
    unlink(client);
    return 0;
}
