// What is CUDA's own in a generated source: it stands before all other text. nvcc's libm is behind the rare functions.
#include <math.h>
#include <stdint.h>
#define _Bool bool
#define PCP_METHOD __device__ __forceinline__
#define PCP_FN static __device__ __forceinline__
#define PCP_LOOP static __device__ __noinline__
#define lgamma_r(x, sign) (*(sign) = 0, lgamma(x))
#define PCP_WARP 32
#define PCP_TERMS 16 // of an f32 product, whose code is written out
typedef unsigned int uint;

#define pcp_exchange(x, k) __shfl_xor_sync(0xFFFFFFFFu, x, k)
#define pcp_sync_warp() __syncwarp()
typedef uint pcp_votes_t; // a bit for each thread of a warp
#define pcp_vote(x) __ballot_sync(0xFFFFFFFFu, x)
#define pcp_count_votes(x) __popc(x)

// d += a b for a warp: a of 16 x 16, b of 16 x 8 bf16, d of 16 x 8 f32. Thread 4 g + t has of a the pairs (g, 2 t), (g + 8, 2 t),
// (g, 2 t + 8), (g + 8, 2 t + 8); of b, by columns, (2 t, g), (2 t + 8, g); of d (g, 2 t), (g, 2 t + 1) and the same of
// row g + 8 (PTX ISA, "Matrix fragments for mma.m16n8k16").
struct pcp_lane_t {
    enum { COLS = 8, PAIRS_A = 4, PAIRS_B = 2, ROWS = 2, SPAN = 4 }; // rows of a thread's d, and threads that have one together
    int g, t;
    static PCP_METHOD pcp_lane_t mine() { return {(int)threadIdx.x % 32 / 4, (int)threadIdx.x % 4}; }
    PCP_METHOD int a_row(int i) const { return g + i % 2 * 8; }
    PCP_METHOD int a_depth(int i) const { return 2 * t + i / 2 * 8; }
    PCP_METHOD int b_col() const { return g; }
    PCP_METHOD int b_depth(int j) const { return 2 * t + j * 8; }
    PCP_METHOD int d_row(int e) const { return g + e / 2 * 8; }
    PCP_METHOD int d_col(int e) const { return 2 * t + e % 2; }
};
// pcp_load_square: a square of 16 x 16 bf16 from shared memory as the instruction's operand; thread i points at row i % 16, from
// column 8 (i / 16) on, for squares of 8 x 8 in the order of the addresses: thread 4 g + t gets of each the pair (g, 2 t), or of
// one that is turned (2 t, g) and (2 t + 1, g). pcp_pack: two as bf16, the first one low. pcp_exp2: to 2 ulp.
// pcp_copy_start: eight bf16 to shared memory, or eight zeros where nothing is there (then `from` may be anywhere), both at
// multiples of 16 bytes; pcp_copy_end: of a group of copies; pcp_copy_wait<N>: until all of this thread's but the last N groups are there.
// pcp_past: read past the multiprocessor's own cache. pcp_await_turn: until *turn is `mine`, and what was written before it is
// seen; pcp_give_turn: the other end. Blocks begin in the order of their numbers, so those that are awaited run.
#ifdef __CUDA_ARCH__
PCP_FN void pcp_mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#define PCP_LOAD_SQUARE(name, kind)                                                                                     \
    PCP_FN void name(uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d, const uint16_t *at)                            \
    {                                                                                                                   \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" kind ".shared.b16 {%0, %1, %2, %3}, [%4];"                         \
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)                                                               \
                     : "r"((uint32_t)__cvta_generic_to_shared(at)));                                                    \
    }
PCP_LOAD_SQUARE(pcp_load_square, "")
PCP_LOAD_SQUARE(pcp_load_square_turned, ".trans")
PCP_FN uint32_t pcp_pack(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
PCP_FN float pcp_exp2(float x)
{
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}
PCP_FN void pcp_copy_start(uint16_t *to, const uint16_t *from, bool is_there)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(is_there ? 16 : 0)
                 : "memory");
}
PCP_FN void pcp_copy_end() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> PCP_FN void pcp_copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
template <class T> PCP_FN T pcp_past(const T *at) { return __ldcg(at); }
PCP_FN void pcp_await_turn(const unsigned *turn, unsigned mine)
{
    unsigned now;
    do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(turn) : "memory");
    while (now != mine);
}
PCP_FN void pcp_give_turn(unsigned *turn, unsigned next)
{
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(turn), "r"(next) : "memory");
}
#elif defined(CUDA_EMULATED_SHIM_H)
#define pcp_mma emulated_mma
#define pcp_load_square(a, b, c, d, at) emulated_load_square(a, b, c, d, at, false)
#define pcp_load_square_turned(a, b, c, d, at) emulated_load_square(a, b, c, d, at, true)
#define pcp_pack(low, high) (pcp_bf16_from_f32(low) | (uint32_t)pcp_bf16_from_f32(high) << 16)
#define pcp_exp2(x) exp2f(x)
#define pcp_copy_start emulated_copy_start
#define pcp_copy_end emulated_copy_end
#define pcp_copy_wait emulated_copy_wait
#define pcp_past(at) (*(at))
#define pcp_await_turn emulated_await_turn
#define pcp_give_turn(turn, next) (*(turn) = (next))
#else // the host's pass of nvcc
PCP_FN void pcp_mma(float (&)[4], const uint32_t (&)[4], const uint32_t (&)[2]) {}
PCP_FN void pcp_load_square(uint32_t &, uint32_t &, uint32_t &, uint32_t &, const uint16_t *) {}
PCP_FN void pcp_load_square_turned(uint32_t &, uint32_t &, uint32_t &, uint32_t &, const uint16_t *) {}
PCP_FN uint32_t pcp_pack(float, float) { return 0; }
PCP_FN float pcp_exp2(float x) { return x; }
PCP_FN void pcp_copy_start(uint16_t *, const uint16_t *, bool) {}
PCP_FN void pcp_copy_end() {}
template <int N> PCP_FN void pcp_copy_wait() {}
template <class T> PCP_FN T pcp_past(const T *at) { return *at; }
PCP_FN void pcp_await_turn(const unsigned *, unsigned) {}
PCP_FN void pcp_give_turn(unsigned *, unsigned) {}
#endif
