/* What a HELLO may say, and whose an id is. Ids go into logs, databases, file names and onto
 * terminals, so that their alphabet is a narrow one; what a member says of itself is checked once,
 * here, for the run's shepherd and the front alike. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "msg/refusals.h"
#include "shepherd/roster/hello.h"
#include "shepherd/shepherd.h"

typedef bool allowed_fn(unsigned code);

static bool is_ascii_word(unsigned code)
{
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
           (code >= '0' && code <= '9') || (code && code < 0x80 && strchr("._:@+-", (int)code));
}

/* Of other scripts: no spaces, nothing invisible. */
static bool in_id(unsigned code)
{
    static const struct {
        unsigned first, last;
    } blank[] = {{0x80, 0xa0},     {0xad, 0xad},     {0x1680, 0x1680}, {0x2000, 0x206f},
                 {0x3000, 0x3000}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xfff0, 0xffff}};
    if (code < 0x80) return is_ascii_word(code);
    for (size_t i = 0; i < sizeof blank / sizeof *blank; i++)
        if (code >= blank[i].first && code <= blank[i].last) return false;
    return true;
}

static bool in_text(unsigned code)
{
    return !utf8_is_control(code);
}

static bool consists_of(const char *text, allowed_fn *allowed)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        unsigned code = 0;
        size_t length = utf8_next(text + i, n - i, &code);
        if (length == 0 || !allowed(code)) return false;
        i += length;
    }
    return true;
}

bool hello_id_valid(const char *id)
{
    size_t n = strlen(id);
    return n > 0 && n < MSG_ID_BYTES && consists_of(id, in_id);
}

const char *hello_fault(const Msg__Hello *hello, const msg_peer_t *from, size_t n_member)
{
    size_t n_id = strlen(hello->id);
    if (n_id == 0 || n_id >= MSG_ID_BYTES) return "the id must have 1 to 63 bytes";
    if (!hello_id_valid(hello->id))
        return "the id must be UTF-8 of letters, digits and . _ : @ + - (give another --id)";
    if (hello->kind <= MSG__KIND__KIND_NONE || hello->kind > MSG__KIND__KIND_SUPERVISOR)
        return "unknown kind of member";
    if (strlen(hello->target) >= MSG_ID_BYTES || strlen(hello->host) >= MSG_NAME_BYTES)
        return "the target's or host's name is too long";
    if (!consists_of(hello->target, is_ascii_word))
        return "the target must be ASCII letters, digits and . _ : @ + -";
    if (strlen(hello->device) >= MSG_ID_BYTES || strlen(hello->device_name) >= MSG_NAME_BYTES)
        return "the device's name is too long";
    if (!consists_of(hello->device, is_ascii_word) || !consists_of(hello->device_name, in_text))
        return "the device's name is not UTF-8, or has control characters";
    if (!(isfinite(hello->steps_per_s) && hello->steps_per_s >= 0))
        return "the speed must be a number of steps in a second, 0 or more";
    if (!consists_of(hello->host, in_text) || !consists_of(hello->software, in_text))
        return "the host's or software's name is not UTF-8, or has control characters";
    if (strlen(hello->endpoint) >= MSG_NAME_BYTES) return "the endpoint is too long";
    if (!consists_of(hello->endpoint, in_text))
        return "the endpoint is not UTF-8, or has control characters";
    if (*hello->supervisor && !hello_id_valid(hello->supervisor))
        return "the supervisor's id must be as an id is: 1 to 63 bytes of letters, digits and . _ "
               ": @ + -";
    const char *not_its_own = from->card ? keys_may_be(from->card, hello->kind, hello->id) : NULL;
    if (not_its_own) refusals_count(REFUSAL_ROLE);
    if (not_its_own) return not_its_own;
    return n_member >= MSG_MAX_MEMBERS ? "too many members" : NULL;
}

bool hello_same_process(const member_row_t *row, const Msg__Hello *hello)
{
    return hello->incarnation && hello->incarnation == row->incarnation;
}

void hello_taken_text(const member_row_t *holder, char text[HELLO_TEXT])
{
    snprintf(text, HELLO_TEXT,
             "the id %s belongs to a living %s (process %u on %.128s): start this one with another "
             "--id",
             holder->id, msg_who_name(holder->kind), holder->pid, holder->host);
}
