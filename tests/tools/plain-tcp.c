/* plain-tcp: bytes over one TCP connection and nothing else, to set a link's transfers beside. Who fetches asks for
 * them with one byte, several times over the same connection, and prints how long each time took. IPv4, no names. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"

typedef struct {
    char *serve, *fetch;
    int64_t port, bytes, times;
} options_t;

#define ROW(key, what, text, low, high, words)                                                     \
    {                                                                                              \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .fallback = text, \
        .help = words, .min = low, .max = high                                                     \
    }
static const config_field_t fields[] = {
    ROW(serve, STRING, NULL, 0, 0, "listen on this address, for one connection"),
    ROW(fetch, STRING, NULL, 0, 0, "ask who serves there"),
    ROW(port, INT, "7999", 1, 65535, "of TCP"),
    ROW(bytes, INT, "100000000", 1, 1e12, "to send each time: the same for both"),
    ROW(times, INT, "3", 1, 1000, "to ask"),
};
static const config_table_t table = {
    .usage = "plain-tcp --serve ADDRESS | --fetch ADDRESS [--port N] [--bytes N] [--times N]\n"
             "Prints for each time: seconds, and Mbit/s.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

enum { PIECE = 1 << 20 };

static int serve(const options_t *options, const struct sockaddr_in *at, err_t *err)
{
    int one = 1, door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *piece = mem_calloc(PIECE, 1), ask;
    int to = -1;
    if (door >= 0) setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (door < 0 || bind(door, (const struct sockaddr *)at, sizeof *at) < 0 ||
        listen(door, 1) < 0 || (to = accept(door, NULL, NULL)) < 0)
        return err_set_errno(err, "%s", options->serve);
    while (read(to, &ask, 1) == 1)
        for (int64_t left = options->bytes; left > 0;) {
            ssize_t n = send(to, piece, left < PIECE ? (size_t)left : PIECE, MSG_NOSIGNAL);
            if (n <= 0) return err_set_errno(err, "%s: send", options->serve);
            left -= n;
        }
    free(piece);
    close(to);
    close(door);
    return 0;
}

static int fetch(const options_t *options, const struct sockaddr_in *at, err_t *err)
{
    int from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *piece = mem_calloc(PIECE, 1);
    if (from < 0 || connect(from, (const struct sockaddr *)at, sizeof *at) < 0)
        return err_set_errno(err, "%s", options->fetch);
    for (int64_t i = 0; i < options->times; i++) {
        double begin = clock_mono_s();
        if (write(from, "+", 1) != 1) return err_set_errno(err, "%s: ask", options->fetch);
        for (int64_t left = options->bytes; left > 0;) {
            ssize_t n = read(from, piece, left < PIECE ? (size_t)left : PIECE);
            if (n <= 0) return err_set_errno(err, "%s: read", options->fetch);
            left -= n;
        }
        double took = clock_mono_s() - begin;
        printf("%.3f %.1f\n", took, (double)options->bytes * 8e-6 / took);
        fflush(stdout);
    }
    free(piece);
    close(from);
    return 0;
}

static int run(const options_t *options, err_t *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options->port)};
    const char *name = options->serve ? options->serve : options->fetch;
    if (!options->serve == !options->fetch)
        return err_set(err, ERR_ARG, "give --serve or --fetch, one of them");
    if (inet_pton(AF_INET, name, &at.sin_addr) != 1)
        return err_set(err, ERR_ARG, "\"%s\" is no IPv4 address", name);
    return options->serve ? serve(options, &at, err) : fetch(options, &at, err);
}

int main(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    err_t err = {0};
    int status = config_load(&table, &options, NULL, argc, argv, &args, &err);
    if (status == 0 && args.asks)
        config_answer(&table, &args, argv[0], stdout);
    else if (status == 0)
        status = run(&options, &err);
    if (status < 0) fprintf(stderr, "plain-tcp: %s\n", err.text);
    config_args_fini(&args);
    config_fini(&table, &options);
    return status < 0 ? 1 : 0;
}
