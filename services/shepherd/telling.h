/* What a run tells everybody, and its end. */
#ifndef SHEPHERD_TELLING_H
#define SHEPHERD_TELLING_H

#include "shepherd/bulk/courier.h"

typedef struct shepherd shepherd_t;

/* Publish an event, and send it to every CLI, reliably. Fills in source and run. */
void shepherd_tell(shepherd_t *self, Msg__Event *event);
void shepherd_fail(shepherd_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The end: tell everybody. A stopped run (exit status 3) can go on later, so that only the others are
 * closed in the store. */
void shepherd_finish(shepherd_t *self, int exit_status, Msg__Event *event, const char *reason);
/* Begin slow work; its result comes to shepherd_on_courier. Takes the job. */
void shepherd_start(shepherd_t *self, courier_job_t *job);
/* Leave without a word to the members: another shepherd leads, or may. */
void shepherd_leave(shepherd_t *self, int exit_status);
/* The store says that the run has ended before. */
void shepherd_over(shepherd_t *self, bool done, const char *reason);

#endif
