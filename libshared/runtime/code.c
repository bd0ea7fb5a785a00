/* Code from memory: the bytes go to an anonymous file (memfd), or where the system forbids running
 * those, to a file in a fresh directory of mode 0700, and from there to dlopen. */
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

/* -1 leaves err untouched where memory files do not exist or may not run: the caller falls back. */
static int load_memory(code_t *self, const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    char path[64];
    self->fd = memfd_create("pcp-plan", MFD_CLOEXEC);
    if (self->fd < 0) return -1;
    if (write_all(self->fd, bytes, n_bytes, err) < 0) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", self->fd);
    self->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return self->library ? 0 : -1;
}

static int load_file(code_t *self, const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    const char *base = getenv("TMPDIR");
    char *dir = mem_printf("%s/pcp-plan-XXXXXX", base && *base ? base : "/tmp"), *path = NULL;
    int rc = -1;
    if (!mkdtemp(dir)) { /* creates it with mode 0700 */
        err_set_errno(err, "plan code: cannot make directory %s", dir);
        goto done;
    }
    path = mem_printf("%s/plan.so", dir);
    self->fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0700);
    if (self->fd < 0) {
        err_set_errno(err, "plan code: cannot create %s", path);
    } else if (write_all(self->fd, bytes, n_bytes, err) == 0) {
        self->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!self->library) err_set(err, ERR_CORRUPT, "plan code: %s", dlerror());
        rc = self->library ? 0 : -1;
    }
    unlink(path);
    rmdir(dir);
done:
    free(path);
    free(dir);
    return rc;
}

code_t *code_load(const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    if (check_header(bytes, n_bytes, err) < 0) return NULL;
    code_t *self = mem_calloc(1, sizeof *self);
    self->fd = -1;
    if (load_memory(self, bytes, n_bytes, err) == 0) return self;
    if (self->fd >= 0) close(self->fd);
    self->fd = -1;
    if (load_file(self, bytes, n_bytes, err) < 0) code_destroy(&self);
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
