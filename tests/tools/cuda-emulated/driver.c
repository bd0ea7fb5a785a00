/* libcuda's place in tests without a GPU, or libamdhip64's (EMULATED_HIP): the functions that runtime/cuda calls, over the host's memory.
 * Modules are shared objects (compile beside this file); a launch runs its blocks one after another, and the
 * threads of a block as coroutines, each on a stack of its own, which change at barriers. What a
 * device would let pass is an error here: threads of a block that wait at different places, and
 * work for a stream while it is recorded that cannot be. Every other round the threads run backwards, so
 * that what depends on their order does not come out the same twice.
 *
 * All kernels have the signature of ours. One thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef EMULATED_HIP
#include "hip_names.h"
#endif
#include "stacks.h"

enum { MAX_THREADS = 1024, SM = 90, MEMORY = 1 << 30 };
enum {
    OK = 0,
    INVALID = 1,
    NO_MEMORY = 2,
    NOT_READY = 600,
    NO_CONTEXT = 201,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILED = 719
};

/* As in shim.h. */
typedef struct {
    unsigned x, y, z;
} dim_t;

static struct {
    dim_t thread, block, block_size;
    void (*wait)(int place);
    unsigned warp;
    unsigned long long slot[MAX_THREADS];
} emulated;

typedef void kernel_t(char *arena, const int64_t *arg, int begin, int extent);

typedef struct {
    kernel_t *function;
    unsigned blocks, threads;
    char *arena;
    const int64_t *arg;
    int begin, extent;
} launch_t;

/* --- A block ---------------------------------------------------------------------------------- */

static struct {
    const launch_t *launch;
    char *stacks;
    place_t scheduler, thread[MAX_THREADS];
    int at[MAX_THREADS]; /* the place where it waits, < 0: for its warp alone; 0: it has ended */
    unsigned now;
} block;

static void wait_at(int place)
{
    block.at[block.now] = place;
    emulated_change(&block.thread[block.now], &block.scheduler);
}

static void run_thread(void)
{
    const launch_t *l = block.launch;
    l->function(l->arena, l->arg, l->begin, l->extent);
    block.at[block.now] = 0;
    emulated_change(&block.thread[block.now], &block.scheduler);
    abort(); /* nobody goes on with a thread that has ended */
}

static void go_on(unsigned i)
{
    block.now = i;
    emulated.thread.x = i;
    emulated_change(&block.scheduler, &block.thread[i]);
}

/* Threads [first, first + n) to their next wait or their end. 0: all have ended; -1: they wait at different places. */
static int run_some(unsigned first, unsigned n, bool backwards, int *place)
{
    int waiting = 0;
    for (unsigned k = 0; k < n; k++) {
        unsigned i = first + (backwards ? n - 1 - k : k);
        if (block.at[i] == 0) continue;
        go_on(i);
        if (block.at[i] == 0) continue;
        if (waiting++ > 0 && *place != block.at[i]) {
            fprintf(stderr, "cuda-emulated: threads of a warp wait at lines %d and %d\n",
                    abs(*place), abs(block.at[i]));
            return -1;
        }
        *place = block.at[i];
    }
    return waiting;
}

/* Every warp to its next wait for all of the block or its end. How many wait; -1: at different places. */
static int run_round(unsigned n, bool backwards)
{
    int waiting = 0, place = 0, n_warp = (int)((n + emulated.warp - 1) / emulated.warp);
    for (int k = 0; k < n_warp; k++) {
        unsigned first = (unsigned)(backwards ? n_warp - 1 - k : k) * emulated.warp;
        unsigned size = n - first < emulated.warp ? n - first : emulated.warp;
        int here = -1, status = 1;
        for (bool back = backwards; status > 0 && here < 0; back = !back)
            status = run_some(first, size, back, &here);
        if (status < 0) return -1;
        if (status == 0) continue;
        if (waiting++ > 0 && place != here) {
            fprintf(stderr, "cuda-emulated: warps of a block wait at lines %d and %d\n", place,
                    here);
            return -1;
        }
        place = here;
    }
    return waiting;
}

static int run(const launch_t *l)
{
    static bool backwards;
    if (!block.stacks) {
        block.stacks = mmap(NULL, (size_t)MAX_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (block.stacks == MAP_FAILED) return NO_MEMORY;
    }
    block.launch = l;
    emulated.block_size = (dim_t){l->threads, 1, 1};
    for (unsigned b = 0; b < l->blocks; b++) {
        int waiting = 1;
        emulated.block.x = b;
        for (unsigned i = 0; i < l->threads; i++) {
            begin_at(&block.thread[i], block.stacks + (size_t)i * STACK_BYTES, run_thread);
            block.at[i] = 1;
        }
        while (waiting > 0) {
            waiting = run_round(l->threads, backwards);
            backwards = !backwards;
        }
        if (waiting < 0) return LAUNCH_FAILED;
    }
    return OK;
}

/* --- The device ------------------------------------------------------------------------------- */

int cuInit(unsigned flags)
{
    emulated.wait = wait_at;
    return flags == 0 ? OK : INVALID;
}

int cuGetErrorName(int error, const char **name)
{
    *name = error == NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_EMULATED";
    return OK;
}

int cuGetErrorString(int error, const char **text)
{
    (void)error;
    *text = "the emulator says so";
    return OK;
}

int cuDeviceGetCount(int *n)
{
    *n = 1;
    return OK;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal == 0 ? OK : INVALID;
}

int cuDeviceGetName(char *name, int n, int device)
{
    (void)device;
    snprintf(name, (size_t)n, "emulated");
    return OK;
}

int cuDeviceTotalMem_v2(size_t *n, int device)
{
    (void)device;
    *n = MEMORY;
    return OK;
}

#ifdef EMULATED_HIP
static __thread bool current;

int hipSetDevice(int device)
{
    current = device == 0;
    return current ? OK : INVALID;
}

/* The architecture stands behind the name, somewhere. */
int hipGetDeviceProperties(char *room, int device)
{
    const char *arch = getenv("PCP_EMULATED_ARCH");
    memset(room, 0, 1472);
    snprintf(room, 256, "gfx000 emulated");
    memset(room + 300, 0xA5, 96);
    snprintf(room + 1160, 256, "%s:sramecc+:xnack-", arch ? arch : "gfx90a");
    return device == 0 ? OK : INVALID;
}
#else
/* The only attributes asked for: the major and the minor number. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 75 ? SM / 10 : SM % 10;
    return attribute == 75 || attribute == 76 ? OK : INVALID;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    *context = &emulated;
    return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return OK;
}

/* A context belongs to a thread; what needs one asks whether it has it. */
static __thread bool current;

int cuCtxSetCurrent(void *context)
{
    current = context == &emulated;
    return current ? OK : INVALID;
}
#endif

/* $PCP_CUDA_LOST, "N:FILE": the first process that waits for its stream for the N-th time is told that its context
 * is lost, from then on by all that needs one: error $PCP_CUDA_LOST_AS, or 700. It makes FILE, so that no other process loses its
 * context. */
static bool lost;

static void lose_now(void)
{
    static long n;
    const char *text = getenv("PCP_CUDA_LOST"), *file = text ? strchr(text, ':') : NULL;
    if (lost || !file || ++n != strtol(text, NULL, 10)) return;
    int fd = open(file + 1, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd >= 0) close(fd);
    lost = fd >= 0;
}

static int lost_as(void)
{
    const char *code = getenv("PCP_CUDA_LOST_AS");
    return code ? (int)strtol(code, NULL, 10) : ILLEGAL_ADDRESS;
}

static int fault(void)
{
    return lost ? lost_as() : current ? OK : NO_CONTEXT;
}

int cuMemGetInfo_v2(size_t *left, size_t *all)
{
    if (fault()) return fault();
    *left = *all = MEMORY;
    return OK;
}

int cuMemHostAlloc(void **at, size_t n, unsigned flags)
{
    if (fault()) return fault();
    if (flags != 0) return INVALID;
    *at = malloc(n);
    return *at ? OK : NO_MEMORY;
}

int cuMemFreeHost(void *at)
{
    free(at);
    return OK;
}

/* Filled with what nobody may count on; behind it lies a page that nobody may touch. */
static struct {
    char *at, *from;
    size_t n;
} owned[64];

int cuMemAlloc_v2(uint64_t *at, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (n + 255) & ~(size_t)255;
    size_t all = (used + page - 1) / page * page + page;
    int i = 0;
    if (fault()) return fault();
    while (i < 64 && owned[i].at) i++;
    if (n > MEMORY || i == 64) return NO_MEMORY;
    char *from = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (from == MAP_FAILED || mprotect(from + all - page, page, PROT_NONE) != 0) return NO_MEMORY;
    owned[i].from = from;
    owned[i].n = all;
    owned[i].at = from + all - page - used;
    memset(owned[i].at, 0xA5, used);
    *at = (uintptr_t)owned[i].at;
    return OK;
}

int cuMemFree_v2(uint64_t at)
{
    if (fault()) return fault();
    for (int i = 0; i < 64; i++)
        if (owned[i].at == (char *)(uintptr_t)at) {
            munmap(owned[i].from, owned[i].n);
            owned[i].at = NULL;
            return OK;
        }
    return INVALID;
}

/* --- Modules ---------------------------------------------------------------------------------- */

/* Where an ELF file ends: behind its table of sections. */
static size_t size_of(const void *image)
{
    Elf64_Ehdr head;
    memcpy(&head, image, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    return head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
}

/* By a file of its own: dlopen knows modules by their paths. */
static void *open_module(const void *image, size_t n)
{
    char path[] = "/tmp/cuda-emulated-XXXXXX";
    int fd = mkstemp(path);
    void *module = NULL;
    if (fd < 0) return NULL;
    if (write(fd, image, n) == (ssize_t)n) module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) fprintf(stderr, "cuda-emulated: %s\n", dlerror());
    close(fd);
    unlink(path);
    return module;
}

int cuModuleLoadData(void **module, const void *image)
{
    if (fault()) return fault();
    size_t n = size_of(image);
    void (*set)(void *) = NULL;
    *module = n > 0 ? open_module(image, n) : NULL;
    void *at = *module ? dlsym(*module, "emulated_set") : NULL;
    memcpy(&set, &at, sizeof set);
    if (set) set(&emulated);
    return set ? OK : INVALID;
}

int cuModuleUnload(void *module)
{
    dlclose(module);
    return OK;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    if (fault()) return fault();
    *function = dlsym(module, name);
    return *function ? OK : NOT_FOUND;
}

/* --- Streams and graphs ----------------------------------------------------------------------- */

/* What a graph holds: a launch, a call of another library's (emulated_call), or a copy. */
typedef struct {
    launch_t launch;
    void (*call)(const void *what);
    char what[256];
    char *to;
    const char *from;
    size_t n;
} node_t;

typedef struct {
    int n, space, users; /* users: the graph, and what was made of it */
    node_t *node;
} graph_t;

static graph_t *capturing;

static int do_node(const node_t *node)
{
    if (node->launch.function) return run(&node->launch);
    if (node->call) {
        node->call(node->what);
        return OK;
    }
    memmove(node->to, node->from, node->n);
    return OK;
}

static int take(const node_t *node)
{
    graph_t *g = capturing;
    if (!g) return do_node(node);
    if (g->n == g->space) {
        g->space = g->space ? 2 * g->space : 64;
        g->node = realloc(g->node, (size_t)g->space * sizeof *g->node);
        if (!g->node) abort();
    }
    g->node[g->n++] = *node;
    return OK;
}

/* For libraries that work in a stream (cublas.c): call(what), now or, while it is captured, with the graph. */
int emulated_call(void *stream, void (*call)(const void *), const void *what, size_t n);

int emulated_call(void *stream, void (*call)(const void *), const void *what, size_t n)
{
    if (fault()) return fault();
    node_t node = {.call = call};
    if (stream != &block || n > sizeof node.what) return INVALID;
    memcpy(node.what, what, n);
    return take(&node);
}

int cuStreamCreate(void **stream, unsigned flags)
{
    if (fault()) return fault();
    (void)flags;
    *stream = &block;
    return OK;
}

int cuStreamDestroy_v2(void *stream)
{
    return stream == &block ? OK : INVALID;
}

int cuStreamSynchronize(void *stream)
{
    lose_now();
    if (fault()) return fault();
    return stream == &block && !capturing ? OK : INVALID;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream)
{
    if (fault()) return fault();
    if (stream != &block || capturing) return INVALID;
    memcpy((void *)(uintptr_t)to, from, n);
    return OK;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *stream)
{
    if (fault()) return fault();
    if (stream != &block || capturing) return INVALID;
    memcpy(to, (const void *)(uintptr_t)from, n);
    return OK;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void *stream)
{
    if (fault()) return fault();
    node_t node = {.to = (char *)(uintptr_t)to, .from = (const char *)(uintptr_t)from, .n = n};
    return stream == &block ? take(&node) : INVALID;
}

int cuMemsetD8Async(uint64_t at, unsigned char value, size_t n, void *stream)
{
    if (fault()) return fault();
    if (stream != &block || capturing) return INVALID;
    memset((void *)(uintptr_t)at, value, n);
    return OK;
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                   void **parameter, void **extra)
{
    if (fault()) return fault();
    node_t node = {.launch = {.blocks = x, .threads = threads}};
    if (x == 0 || y != 1 || z != 1 || threads == 0 || threads > MAX_THREADS || threads_y != 1 ||
        threads_z != 1 || shared != 0 || stream != &block || extra || !function)
        return INVALID;
    memcpy(&node.launch.function, &function, sizeof function);
    memcpy(&node.launch.arena, parameter[0], sizeof node.launch.arena);
    memcpy(&node.launch.arg, parameter[1], sizeof node.launch.arg);
    memcpy(&node.launch.begin, parameter[2], sizeof node.launch.begin);
    memcpy(&node.launch.extent, parameter[3], sizeof node.launch.extent);
    return take(&node);
}

/* --- Events: the stream runs at once, so they happen when they are recorded. --- */

int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(struct timespec));
    return *event ? OK : NO_MEMORY;
}

int cuEventDestroy_v2(void *event)
{
    free(event);
    return OK;
}

int cuEventRecord(void *event, void *stream)
{
    if (fault()) return fault();
    if (stream != &block || capturing) return INVALID;
    clock_gettime(CLOCK_MONOTONIC, event);
    return OK;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
    const struct timespec *a = from, *b = to;
    if (a->tv_sec == 0 || b->tv_sec == 0) return NOT_READY;
    const char *fixed = getenv("PCP_EMULATED_MS");
    *ms = fixed ? strtof(fixed, NULL)
                : (float)((double)(b->tv_sec - a->tv_sec) * 1e3 +
                          (double)(b->tv_nsec - a->tv_nsec) / 1e6);
    return OK;
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
    if (fault()) return fault();
    (void)mode;
    if (stream != &block || capturing) return INVALID;
    capturing = calloc(1, sizeof *capturing);
    if (!capturing) return NO_MEMORY;
    capturing->users = 1;
    return OK;
}

int cuStreamEndCapture(void *stream, void **graph)
{
    *graph = capturing;
    capturing = NULL;
    return stream == &block && *graph ? OK : INVALID;
}

int cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long flags)
{
    (void)flags;
    ((graph_t *)graph)->users++;
    *made = graph;
    return OK;
}

int cuGraphLaunch(void *made, void *stream)
{
    if (fault()) return fault();
    const graph_t *g = made;
    int result = stream == &block && !capturing ? OK : INVALID;
    for (int i = 0; result == OK && i < g->n; i++) result = do_node(&g->node[i]);
    return result;
}

int cuGraphDestroy(void *graph)
{
    graph_t *g = graph;
    if (--g->users > 0) return OK;
    free(g->node);
    free(g);
    return OK;
}

int cuGraphExecDestroy(void *made)
{
    return cuGraphDestroy(made);
}
