/* Exit statuses of a worker that its supervisor understands, besides 0, 1 (an error, and any crash) and 2
 * (usage). They are its device's. */
#ifndef BASE_EXIT_H
#define BASE_EXIT_H

enum {
    EXIT_DEVICE_MISSING =
        10, /* no such device, no driver, or one that lacks what plans need: as long as
                                 nobody mends it, starting again changes nothing */
    EXIT_DEVICE_LOST = 11, /* its driver gave it up: starting again may help, after a while */
    EXIT_DEVICE_MEMORY =
        12, /* the run's plan is too large for it: starting again changes nothing */
};

#endif
