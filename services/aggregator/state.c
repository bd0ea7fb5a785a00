/* Slots: mapped files with a header page, float vectors (parameters, then the outer rule's state), and
 * checks over all. */
#include "aggregator/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/limits.h"

enum { HEADER_BYTES = 4096 };
static const char MAGIC[8] = "PCPSHRD2";
static const char MAGIC_1[8] = "PCPSHRD1"; /* of before rules other than Nesterov's */

typedef struct {
    char magic[8];
    state_meta_t meta;
    uint64_t data;  /* state_check over the vectors */
    uint64_t check; /* of everything above */
} slot_header_t;

static uint64_t header_check(const slot_header_t *header)
{
    return hash_fast(header, offsetof(slot_header_t, check));
}

uint64_t state_check(uint64_t before, const shared_t *slot, uint64_t begin, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += STATE_GRAIN) {
        size_t bytes = (size_t)(n - i < STATE_GRAIN ? n - i : STATE_GRAIN) * sizeof(float);
        uint64_t link[2 + OUTER_STATES] = {before, hash_fast(slot->values + begin + i, bytes)};
        size_t n_link = 2;
        for (size_t s = 0; s < OUTER_STATES && slot->outer[s]; s++)
            link[n_link++] = hash_fast(slot->outer[s] + begin + i, bytes);
        before = hash_fast(link, n_link * sizeof *link);
    }
    return before;
}

uint64_t state_check_all(const shared_t *slot, uint64_t n)
{
    return state_check(0, slot, 0, n);
}

static slot_header_t *header_of(const shared_t *slot)
{
    return (slot_header_t *)(uintptr_t)slot->map.at;
}

static char *slot_path(const state_t *self, size_t i)
{
    return self->dir ? mem_printf("%s/slot-%zu", self->dir, i) : mem_strdup("slot in memory");
}

/* --- The directory --- */

static int lock_dir(state_t *self, err_t *err)
{
    char *path = mem_printf("%s/lock", self->dir);
    int rc = 0;
    self->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (self->lock < 0)
        rc = err_set_errno(err, "%s", path);
    else if (flock(self->lock, LOCK_EX | LOCK_NB) < 0)
        rc = errno == EWOULDBLOCK
                 ? err_set(err, ERR_STATE, "%s: another process uses this state directory", path)
                 : err_set_errno(err, "%s: lock", path);
    free(path);
    return rc;
}

int state_open(state_t *self, const char *dir, err_t *err)
{
    *self = (state_t){.lock = -1};
    if (dir) {
        if (file_make_dirs(dir, err) < 0) return -1;
        self->dir = mem_strdup(dir);
        if (lock_dir(self, err) < 0) return -1;
    }
    char *path = dir ? mem_printf("%s/journal", dir) : NULL;
    int rc = journal_open(&self->journal, path, err);
    free(path);
    return rc;
}

static void drop_slots(state_t *self)
{
    for (size_t i = 0; i < STATE_SLOTS; i++) shared_drop(&self->slots[i]);
}

void state_close(state_t *self)
{
    drop_slots(self);
    journal_close(&self->journal);
    if (self->lock >= 0) close(self->lock);
    free(self->dir);
    *self = (state_t){.lock = -1};
}

int state_clear(state_t *self, err_t *err)
{
    /* Answers that nobody has taken yet may not keep files alive that count no more. */
    for (size_t i = 0; i < STATE_SLOTS; i++)
        if (self->slots[i] && !shared_alone(self->slots[i])) shared_take_away(self->slots[i]);
    drop_slots(self);
    for (size_t i = 0; self->dir && i < STATE_SLOTS; i++) {
        char *path = slot_path(self, i);
        int failed = unlink(path) < 0 && errno != ENOENT;
        if (failed) err_set_errno(err, "%s: remove", path);
        free(path);
        if (failed) return -1;
    }
    /* Gone for good: a power cut must not bring back rounds that the run has left. */
    if (self->dir && file_sync_dir(self->dir, err) < 0) return -1;
    return journal_clear(&self->journal, err);
}

/* --- Slots --- */

int state_shape(const state_meta_t *meta, state_shape_t *out, err_t *err)
{
    const outer_rule_t *rule = outer_rule_find_id(meta->rule, err);
    *out = (state_shape_t){.n = meta->end - meta->begin, .begin = meta->begin};
    if (!rule) return -1;
    if (change_of_word(meta->down, meta->averaged_from, &out->down, err) < 0) return -1;
    out->n_outer = outer_vectors(rule, out->down.codec);
    return 0;
}

static size_t slot_bytes(const state_shape_t *shape)
{
    size_t change = 0;
    if (shape->down.codec)
        change = change_room(&shape->down, shape->begin, shape->n, MSG_CHUNK_FLOATS);
    return HEADER_BYTES + (size_t)shape->n * (1 + shape->n_outer) * sizeof(float) + change;
}

static void find_vectors(shared_t *slot, const state_shape_t *shape)
{
    float *first = (float *)((uintptr_t)slot->map.at + HEADER_BYTES);
    slot->values = first;
    for (size_t s = 0; s < OUTER_STATES; s++)
        slot->outer[s] = s < shape->n_outer ? first + (1 + s) * shape->n : NULL;
    slot->change = shape->down.codec ? (uint8_t *)(first + (1 + shape->n_outer) * shape->n) : NULL;
}

static shared_t *map_slot(int fd, size_t n_bytes, const char *path, err_t *err)
{
    void *at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) return shared_file((file_map_t){at, n_bytes});
    err_set_errno(err, "%s: map %zu bytes", path, n_bytes);
    return NULL;
}

/* Where the disk has no room. */
static shared_t *make_in_memory(state_t *self, size_t n_bytes, const err_t *fault, err_t *err)
{
    void *at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        err_set_errno(err, "%s; and %zu bytes of memory", fault->text, n_bytes);
        return NULL;
    }
    shared_t *slot = shared_file((file_map_t){at, n_bytes});
    slot->in_memory = true;
    self->fault = *fault;
    return slot;
}

static shared_t *make_slot(const state_t *self, size_t number, size_t n_bytes, err_t *err)
{
    char *path = slot_path(self, number);
    if (self->dir) unlink(path); /* somebody may have the old one mapped: it is not cut */
    int fd = self->dir ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                       : memfd_create("slot", MFD_CLOEXEC);
    shared_t *slot = NULL;
    int failed = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)n_bytes);
    if (failed) {
        errno = failed; /* posix_fallocate returns it */
        err_set_errno(err, "%s: %zu bytes", path, n_bytes);
        if (self->dir) unlink(path);
    } else {
        slot = map_slot(fd, n_bytes, path, err);
    }
    if (fd >= 0) close(fd);
    free(path);
    return slot;
}

/* So many may be there: more where older ones are to be kept. */
static int most_slots(shared_t *const keep[STATE_KEEPS])
{
    int n = STATE_READ;
    for (size_t i = 2; i < STATE_KEEPS; i++) n += keep[i] != NULL;
    return n < STATE_SLOTS ? n : STATE_SLOTS;
}

/* A slot of that size that nobody reads; NULL: none. *number: the first without a file, or -1. */
static shared_t *spare_slot(const state_t *self, size_t n_bytes, int most, int *number)
{
    *number = -1;
    for (int i = most; i-- > 0;)
        if (!self->slots[i]) *number = i;
    for (int i = 0; i < STATE_SLOTS; i++)
        if (self->slots[i] && self->slots[i]->map.n == n_bytes && !self->slots[i]->in_memory &&
            shared_alone(self->slots[i]))
            return self->slots[i];
    return NULL;
}

/* Those that older rounds' parameters needed, and nobody now. */
static void remove_unused(state_t *self, int most)
{
    for (int i = STATE_SLOTS; i-- > most;) {
        if (!self->slots[i] || !shared_alone(self->slots[i])) continue;
        char *path = slot_path(self, (size_t)i);
        if (self->dir) unlink(path);
        free(path);
        shared_drop(&self->slots[i]);
    }
}

static bool is_kept(const shared_t *slot, shared_t *const keep[STATE_KEEPS])
{
    for (size_t i = 0; i < STATE_KEEPS; i++)
        if (slot == keep[i]) return true;
    return false;
}

/* The oldest slot that is none of those to keep, from under its readers. Its number; -1: none can
 * be taken. */
static int take_oldest(state_t *self, shared_t *const keep[STATE_KEEPS])
{
    int oldest = -1;
    for (int i = 0; i < STATE_SLOTS; i++) {
        const shared_t *slot = self->slots[i];
        if (!slot || is_kept(slot, keep)) continue;
        if (oldest < 0 || slot->round < self->slots[oldest]->round) oldest = i;
    }
    if (oldest < 0 || shared_take_away(self->slots[oldest]) < 0) return -1;
    log_event(LOG_WARN, "snapshot_taken", "round=%u reason=\"answers from it are still not read\"",
              self->slots[oldest]->round);
    char *path = slot_path(self, (size_t)oldest);
    if (self->dir) unlink(path); /* a file of its own for the next one */
    free(path);
    shared_drop(&self->slots[oldest]);
    return oldest;
}

shared_t *state_slot(state_t *self, const state_shape_t *shape, shared_t *const keep[STATE_KEEPS],
                     err_t *err)
{
    int number, most = most_slots(keep);
    err_t fault = {0};
    size_t n_bytes = slot_bytes(shape);
    for (size_t i = 0; i < STATE_SLOTS; i++) /* the disk is tried again */
        if (self->slots[i] && self->slots[i]->in_memory && shared_alone(self->slots[i]))
            shared_drop(&self->slots[i]);
    remove_unused(self, most);
    shared_t *slot = spare_slot(self, n_bytes, most, &number);
    if (!slot && number < 0) number = take_oldest(self, keep);
    if (!slot && number < 0) {
        err_set(err, ERR_MEMORY,
                "%d snapshots are still being read, and the system has no mapping "
                "to replace one with; raise vm.max_map_count",
                most);
        return NULL;
    }
    if (!slot) {
        slot = make_slot(self, (size_t)number, n_bytes, &fault);
        if (!slot) slot = make_in_memory(self, n_bytes, &fault, err);
        if (!slot) return NULL;
        self->slots[number] = slot;
    }
    find_vectors(slot, shape);
    memset(header_of(slot), 0, sizeof(slot_header_t));
    free(slot->checks);
    slot->checks = NULL;
    atomic_thread_fence(memory_order_seq_cst); /* struck out before it is written */
    return shared_hold(slot);
}

void state_publish(shared_t *slot, const state_meta_t *meta, uint64_t check)
{
    slot_header_t header = {.meta = *meta, .data = check};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.check = header_check(&header);
    slot->round = meta->round;
    if (!meta->shares) slot->change = NULL;    /* first values have none */
    atomic_thread_fence(memory_order_seq_cst); /* data before header */
    memcpy(header_of(slot), &header, sizeof header);
}

/* --- Loading --- */

static const char *judge(shared_t *slot)
{
    const slot_header_t *header = header_of(slot);
    if (memcmp(header->magic, MAGIC_1, sizeof MAGIC_1) == 0)
        return "an older version of this program wrote it: the run goes back to its checkpoint";
    if (memcmp(header->magic, MAGIC, sizeof MAGIC) != 0) return "never completed";
    if (header->check != header_check(header)) return "the header is damaged";
    const state_meta_t *meta = &header->meta;
    state_shape_t shape;
    if (state_shape(meta, &shape, NULL) < 0)
        return "this program does not know its outer rule or codec";
    if (meta->begin > meta->end || meta->end > meta->total || meta->total > INT64_MAX / 16 ||
        meta->fragments < 1 || meta->fragments > STATE_FRAGMENTS ||
        slot->map.n != slot_bytes(&shape))
        return "the size does not fit its header";
    find_vectors(slot, &shape);
    slot->round = meta->round;
    if (!meta->shares) slot->change = NULL;
    if (header->data != state_check_all(slot, shape.n)) return "the data is damaged";
    return NULL;
}

/* NULL: no such file, or one that does not count. */
static shared_t *read_slot(const state_t *self, size_t number)
{
    char *path = slot_path(self, number);
    struct stat info;
    err_t err = {0};
    shared_t *slot = NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    const char *fault = NULL;
    if (fd >= 0 && fstat(fd, &info) == 0) {
        if (info.st_size < HEADER_BYTES)
            fault = "too short for a header";
        else if (!(slot = map_slot(fd, (size_t)info.st_size, path, &err)))
            fault = err.text;
        else
            fault = judge(slot);
    }
    if (fault) log_event(LOG_WARN, "state_ignored", "file=%s reason=\"%s\"", path, fault);
    if (fault) shared_drop(&slot);
    if (fd >= 0) close(fd);
    free(path);
    return slot;
}

bool state_load(state_t *self, shared_t **now, shared_t *before[STATE_LATE], state_meta_t *meta)
{
    *now = NULL;
    for (size_t i = 0; i < STATE_LATE; i++) before[i] = NULL;
    for (size_t i = 0; self->dir && i < STATE_SLOTS; i++) {
        shared_t *slot = self->slots[i] = read_slot(self, i);
        if (slot && (!*now || slot->round > (*now)->round)) *now = slot;
    }
    if (!*now) return false;
    *meta = header_of(*now)->meta;
    for (size_t i = 0; i < STATE_SLOTS; i++) {
        shared_t *slot = self->slots[i];
        if (!slot || slot->round >= (*now)->round) continue;
        uint32_t back = (*now)->round - slot->round - 1;
        if (back < STATE_LATE && header_of(slot)->meta.run == meta->run &&
            slot->map.n == (*now)->map.n && !before[back])
            before[back] = shared_hold(slot);
    }
    shared_hold(*now);
    return true;
}
