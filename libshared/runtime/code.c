/* Code from memory: the bytes go to an anonymous file (memfd), or where the system forbids running
 * those, to a file in $TMPDIR without a name, and from there to dlopen. */
#include "runtime/code.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

struct code {
    void *library;
    int fd; /* stays open while the library is loaded: dlopen knows libraries by their path, and
             * the path /proc/self/fd/N must not come to name another file meanwhile */
};

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE };
#endif

/* The loader maps what the segments name and touches it: behind the end of the file that is
 * SIGBUS. */
static int check_segments(const uint8_t *bytes, size_t n_bytes, const Elf64_Ehdr *head, err_t *err)
{
    Elf64_Phdr segment;
    if (head->e_phentsize != sizeof segment || head->e_phoff > n_bytes ||
        n_bytes - head->e_phoff < (size_t)head->e_phnum * sizeof segment)
        return err_set(err, ERR_CORRUPT, "plan code: segment table beyond the %zu bytes", n_bytes);
    for (int i = 0; i < head->e_phnum; i++) {
        memcpy(&segment, bytes + head->e_phoff + (size_t)i * sizeof segment, sizeof segment);
        if (segment.p_offset > n_bytes || n_bytes - segment.p_offset < segment.p_filesz)
            return err_set(err, ERR_CORRUPT, "plan code: segment %d beyond the %zu bytes", i,
                           n_bytes);
    }
    return 0;
}

static int check_header(const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    Elf64_Ehdr head;
    if (n_bytes < sizeof head || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return err_set(err, ERR_CORRUPT, "plan code: %zu bytes that are no ELF file", n_bytes);
    memcpy(&head, bytes, sizeof head);
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_type != ET_DYN)
        return err_set(err, ERR_CORRUPT,
                       "plan code: not a 64-bit shared object (class %d, type %d)",
                       head.e_ident[EI_CLASS], head.e_type);
    if (head.e_machine != MACHINE)
        return err_set(err, ERR_UNSUPPORTED, "plan code: for ELF machine %d, this machine is %d",
                       head.e_machine, MACHINE);
    return check_segments(bytes, n_bytes, &head, err);
}

static int write_all(int fd, const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    while (n_bytes > 0) {
        ssize_t n = write(fd, bytes, n_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return err_set_errno(err, "plan code: write");
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

/* May the system run what is in it? */
static bool is_runnable(int fd)
{
    void *at = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) munmap(at, 1);
    return at != MAP_FAILED;
}

static int memory_file(void)
{
    int fd = memfd_create("pcp-plan", MFD_CLOEXEC);
    if (fd >= 0 && is_runnable(fd)) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* Nobody finds it by its name. */
static int disk_file(err_t *err)
{
    const char *base = getenv("TMPDIR");
    char *path = mem_printf("%s/pcp-plan-XXXXXX", base && *base ? base : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC); /* creates it with mode 0600 */
    if (fd < 0)
        err_set_errno(err, "plan code: cannot create %s", path);
    else
        unlink(path);
    free(path);
    return fd;
}

code_t *code_put(const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    if (check_header(bytes, n_bytes, err) < 0) return NULL;
    int fd = memory_file();
    if (fd < 0 && (fd = disk_file(err)) < 0) return NULL;
    code_t *self = mem_calloc(1, sizeof *self);
    self->fd = fd;
    if (write_all(fd, bytes, n_bytes, err) < 0) code_destroy(&self);
    return self;
}

int code_open(code_t *self, err_t *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", self->fd);
    self->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return self->library ? 0 : err_set(err, ERR_CORRUPT, "plan code: %s", dlerror());
}

code_t *code_load(const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    code_t *self = code_put(bytes, n_bytes, err);
    if (self && code_open(self, err) < 0) code_destroy(&self);
    return self;
}

void code_destroy(code_t **self_p)
{
    code_t *self = *self_p;
    if (!self) return;
    if (self->library) dlclose(self->library);
    if (self->fd >= 0) close(self->fd);
    free(self);
    *self_p = NULL;
}

void *code_symbol(code_t *self, const char *name, err_t *err)
{
    void *address = dlsym(self->library, name);
    if (!address) err_set(err, ERR_CORRUPT, "plan code: kernel %s is missing", name);
    return address;
}

plan_kernel_fn **code_kernels(code_t *self, const plan_t *plan, err_t *err)
{
    plan_kernel_fn **kernel = mem_calloc((size_t)plan->n_kernel + 1, sizeof *kernel);
    for (int i = 0; i < plan->n_kernel; i++) {
        void *address = code_symbol(self, plan->kernel_name[i], err);
        if (!address) {
            free(kernel);
            return NULL;
        }
        memcpy(&kernel[i], &address, sizeof address); /* C has no cast from data to code */
    }
    return kernel;
}
