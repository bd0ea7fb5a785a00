/* tap-line: somebody in the middle. Takes one connection at a port of this machine, passes on both ways what comes to
 * another, and keeps all bytes that the client has sent in a file, for besiege --replay. Ends when one side does. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/config.h"
#include "base/err.h"

typedef struct {
    int64_t listen, port;
    char *out;
} options_t;

#define ROW(key, what, low, high, words)                                                        \
    {                                                                                           \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .help = words, \
        .min = low, .max = high                                                                 \
    }
static const config_field_t fields[] = {
    ROW(listen, INT, 1, 65535, "port where the client comes"),
    ROW(port, INT, 1, 65535, "of the service"),
    ROW(out, STRING, 0, 0, "file of what the client sends"),
};
static const config_table_t table = {
    .usage = "tap-line --listen PORT --port PORT --out FILE\n"
             "Passes one connection on and keeps what its client says.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

static struct sockaddr_in here(int64_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int take_client(int64_t port, err_t *err)
{
    struct sockaddr_in at = here(port);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    bool listens = bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0;
    int client = listens ? accept(fd, NULL, NULL) : -1;
    if (client < 0) err_set_errno(err, "--listen");
    close(fd);
    return client;
}

static int reach(int64_t port, err_t *err)
{
    struct sockaddr_in at = here(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) return fd;
    close(fd);
    err_set_errno(err, "--port");
    return -1;
}

/* What has come at one end to the other, and to a file. false: one of them has gone. */
static bool pass(int from, int to, FILE *out)
{
    char bytes[65536];
    ssize_t n = recv(from, bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    if (out) fwrite(bytes, 1, (size_t)n, out);
    for (ssize_t sent = 0, now; sent < n; sent += now)
        if ((now = send(to, bytes + sent, (size_t)(n - sent), MSG_NOSIGNAL)) <= 0) return false;
    return true;
}

static int run(const options_t *options, err_t *err)
{
    if (!options->listen || !options->port || !options->out)
        return err_set(err, ERR_ARG, "--listen, --port and --out are needed");
    FILE *out = fopen(options->out, "w");
    if (!out) return err_set_errno(err, "%s", options->out);
    int client = take_client(options->listen, err);
    int service = client < 0 ? -1 : reach(options->port, err);
    struct pollfd at[2] = {{client, POLLIN, 0}, {service, POLLIN, 0}};
    for (bool both = service >= 0; both && poll(at, 2, -1) > 0;)
        both = (!at[0].revents || pass(client, service, out)) &&
               (!at[1].revents || pass(service, client, NULL));
    fclose(out);
    if (client >= 0) close(client);
    if (service >= 0) close(service);
    return service < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    err_t err = {0};
    int rc = config_load(&table, &options, NULL, argc, argv, &args, &err);
    if (rc == 0 && args.asks)
        config_answer(&table, &args, argv[0], stdout);
    else if (rc == 0)
        rc = run(&options, &err);
    if (rc < 0) fprintf(stderr, "tap-line: %s\n", err.text);
    config_args_fini(&args);
    config_fini(&table, &options);
    return rc < 0 ? 1 : 0;
}
