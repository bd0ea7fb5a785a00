/* bench-steps: news of steps from many workers, as their run's shepherd passes it on, each of them once a second.
 *
 *   bench-steps ENDPOINT WORKERS SECONDS
 *
 * It binds ENDPOINT, waits two seconds for who listens, and sends evenly. For tests/bench/telemetry.sh. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "msg/endpoint.h"
#include "msg/publish.h"

enum { WAIT_MS = 2000, PIECES = 100 }; /* of a second */

static void say(zsock_t *socket, int worker, int second)
{
    char source[32];
    snprintf(source, sizeof source, "worker-%d", worker);
    Msg__StepStats step = MSG__STEP_STATS__INIT;
    Msg__Event event = MSG__EVENT__INIT;
    event.source = source;
    event.run = (char *)"bench";
    event.body_case = MSG__EVENT__BODY_STEP;
    event.step = &step;
    step.step = (uint64_t)second;
    step.loss = 1.0 / (second + 1);
    step.tokens_per_s = 1000 + worker;
    publish_event(socket, &event);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: bench-steps ENDPOINT WORKERS SECONDS\n");
        return 2;
    }
    int n_worker = atoi(argv[2]), n_second = atoi(argv[3]);
    err_t err = {0};
    zsys_handler_set(NULL);
    zsock_t *socket = endpoint_open(endpoint_bind(ZMQ_PUB, argv[1]), &err);
    if (!socket) {
        fprintf(stderr, "bench-steps: %s\n", err.text);
        return 1;
    }
    zsock_set_sndhwm(socket, 0);
    zclock_sleep(WAIT_MS);
    int64_t begin = clock_mono_ms();
    for (int piece = 0; piece < n_second * PIECES; piece++) {
        int at = piece % PIECES;
        for (int w = n_worker * at / PIECES; w < n_worker * (at + 1) / PIECES; w++)
            say(socket, w, piece / PIECES);
        int64_t due = begin + (int64_t)(piece + 1) * 1000 / PIECES, now = clock_mono_ms();
        if (due > now) zclock_sleep((int)(due - now));
    }
    printf("%.1f\n", (double)(clock_mono_ms() - begin) / 1000);
    zclock_sleep(1000);
    zsock_destroy(&socket);
    return 0;
}
