/* Changing stacks, for driver.c's threads: a place_t is where one of them stands still. Its stack has STACK_BYTES. */
#ifndef CUDA_EMULATED_STACKS_H
#define CUDA_EMULATED_STACKS_H

#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 256 << 10 };

#ifdef __x86_64__
typedef struct {
    void *sp;
} place_t;

/* Callee-saved registers on the stack, the stack in *from; then all that of *to. */
void emulated_change(place_t *from, place_t *to);
__asm__(".text\n"
        ".globl emulated_change\n"
        ".type emulated_change, @function\n"
        "emulated_change:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq (%rsi), %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size emulated_change, . - emulated_change\n");

static void begin_at(place_t *place, char *stack, void (*function)(void))
{
    void **top = (void **)(stack + STACK_BYTES) - 1; /* as after a call: 8 bytes off 16 */
    *top = NULL;
    memcpy(--top, &function, sizeof function);
    top -= 6;
    place->sp = top;
}
#else
typedef struct {
    ucontext_t context;
} place_t;

static void emulated_change(place_t *from, place_t *to)
{
    swapcontext(&from->context, &to->context);
}

static void begin_at(place_t *place, char *stack, void (*function)(void))
{
    getcontext(&place->context);
    place->context.uc_stack.ss_sp = stack;
    place->context.uc_stack.ss_size = STACK_BYTES;
    place->context.uc_link = NULL;
    makecontext(&place->context, function, 0);
}
#endif

#endif
