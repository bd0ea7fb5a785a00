/* Jobs: work in a thread of its own that answers, goes on and is cancelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "msg/jobs.h"

#define BODY(kind) MSG__ENVELOPE__BODY_##kind

/* Answers a lease with news, then its round; round 99 goes on until it is stopped. */
static void do_job(void *user, job_t *self, const msg_envelope_t *job)
{
    ++*(int *)user;
    Msg__Event event = MSG__EVENT__INIT;
    msg_envelope_t news = MSG__ENVELOPE__INIT, reply = MSG__ENVELOPE__INIT;
    news.body_case = BODY(RUN_EVENT);
    news.run_event = &event;
    job_reply(self, &news);
    while (job->lease->round == 99 && !job_stopped(self)) zclock_sleep(1);
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    done.round = job->lease->round;
    reply.body_case = BODY(LEASE_DONE);
    reply.lease_done = &done;
    job_reply(self, &reply);
}

static uint32_t finish_job(jobs_t *jobs, int *n_news)
{
    for (;;) {
        msg_envelope_t *reply = jobs_receive(jobs);
        if (!reply) continue;
        bool news = reply->body_case == BODY(RUN_EVENT);
        assert_int_equal(jobs_busy(jobs), news);
        uint32_t round = news ? 0 : reply->lease_done->round;
        *n_news += news;
        msg_free(&reply);
        if (!news) return round;
    }
}

static void jobs(void **unused)
{
    (void)unused;
    int n_job = 0, n_news = 0;
    jobs_t *jobs = jobs_new(do_job, &n_job);
    Msg__Lease lease = MSG__LEASE__INIT;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = BODY(LEASE);
    message.lease = &lease;
    assert_false(jobs_busy(jobs));
    assert_null(jobs_receive(jobs));
    jobs_cancel(jobs); /* nothing runs: nothing happens */
    for (uint32_t round = 1; round < 4; round++) {
        lease.round = round;
        jobs_start(jobs, &message);
        assert_int_equal(finish_job(jobs, &n_news), round);
    }
    assert_int_equal(n_news, 3);
    lease.round = 99;
    jobs_start(jobs, &message);
    jobs_cancel(jobs);
    assert_int_equal(finish_job(jobs, &n_news), 99);
    lease.round = 5; /* the cancellation ends with its job */
    jobs_start(jobs, &message);
    assert_int_equal(finish_job(jobs, &n_news), 5);
    lease.round = 99;
    jobs_start(jobs, &message);
    jobs_destroy(&jobs); /* stops it */
    assert_int_equal(n_job, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs)};
    return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
