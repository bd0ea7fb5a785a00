/* What a HELLO must be, for the run's shepherd and the front alike. */
#ifndef SHEPHERD_HELLO_H
#define SHEPHERD_HELLO_H

#include "shepherd/roster/roster.h"

enum { HELLO_TEXT = 320 };
/* What is wrong with a HELLO; NULL: nothing. n_member are there already. A sender with a key is what
 * its key says, under an id of that name. */
const char *hello_fault(const Msg__Hello *hello, const msg_peer_t *from, size_t n_member);
bool hello_id_valid(const char *id); /* 1 to 63 bytes of the ids' alphabet */
/* A member's own process says HELLO once more. */
bool hello_same_process(const member_row_t *row, const Msg__Hello *hello);
/* What another is told who says HELLO with the holder's id. */
void hello_taken_text(const member_row_t *holder, char text[HELLO_TEXT]);

#endif
