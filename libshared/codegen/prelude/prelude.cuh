// What generated CUDA and HIP share, behind the language's own words (prelude_cuda.cuh, prelude_hip.cuh) and the C prelude
// (prelude_math.h, prelude_int.h), whose functions are those of C: the same formulas, errors and, where they name each
// fused step, bits. Integers below 32 bits have their own types here, as in C.

// --- Sums in two floats (Knuth's TwoSum): what a long one loses by rounding is carried along ---
PCP_FN void pcp_fold_sum(float &sum, float &lost, float x)
{
    float s = sum + x, t = s - sum;
    lost += (sum - (s - t)) + (x - t);
    sum = s;
}
PCP_FN float pcp_end_sum(float sum, float lost) { return lost - lost == 0 ? sum + lost : sum; }

// --- Four neighbours in memory, at once ---
template <class T> struct alignas(sizeof(T) < 4 ? sizeof(T) * 4 : 16) pcp_quad_t { T x[4]; };

// --- What NVIDIA's processors have instructions for, or nvcc's libm few, in the place of the C prelude's: expf and tanhf are right
// to 1 ulp (CUDA Programming Guide, "Mathematical Functions"), max and min as defined, and a NaN has no sign ---
#ifdef __CUDA_ARCH__
PCP_FN float pcp_exp_cuda_f32(float x) { return expf(x); }
PCP_FN float pcp_tanh_cuda_f32(float x) { return tanhf(x); }
PCP_FN float pcp_max_cuda_f32(float a, float b)
{
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
    return a;
}
PCP_FN float pcp_min_cuda_f32(float a, float b)
{
    asm("min.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
    return a;
}
PCP_FN uint16_t pcp_bf16_cuda_from_f32(float x)
{
    uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
PCP_FN float pcp_round_cuda_bf16(float x) { return pcp_f32_from_bf16(pcp_bf16_cuda_from_f32(x)); }
#define pcp_exp_f32 pcp_exp_cuda_f32
#define pcp_tanh_f32 pcp_tanh_cuda_f32
#define pcp_max_f32 pcp_max_cuda_f32
#define pcp_min_f32 pcp_min_cuda_f32
#define pcp_bf16_from_f32 pcp_bf16_cuda_from_f32
#define kc_round_bf16 pcp_round_cuda_bf16
#endif

// --- The value of the thread whose number in the warp differs in the bits of k. All threads of a warp take part ---
#define PCP_NEIGHBOUR(T, W)                                                                         \
    PCP_FN T pcp_of_neighbour(T x, int k) { return (T)pcp_exchange((W)x, k); }
PCP_NEIGHBOUR(float, float)
PCP_NEIGHBOUR(double, double)
PCP_NEIGHBOUR(bool, int)
PCP_NEIGHBOUR(int8_t, int)
PCP_NEIGHBOUR(uint8_t, int)
PCP_NEIGHBOUR(int16_t, int)
PCP_NEIGHBOUR(uint16_t, int)
PCP_NEIGHBOUR(int32_t, int)
PCP_NEIGHBOUR(uint32_t, uint)
PCP_NEIGHBOUR(int64_t, long long)
PCP_NEIGHBOUR(uint64_t, unsigned long long)

// Threads of a group wait for each other; a group that is a warp for no other one of the block.
#define pcp_sync_lanes(lanes) ((lanes) == PCP_WARP ? pcp_sync_warp() : __syncthreads())

// --- Searches: what threads of a warp find in looks of their own is noted in the order of the rounds ---
#define PCP_LOOKS 8                          // of a thread, before they tell each other
#define PCP_FOUND (2 * PCP_LOOKS * PCP_WARP) // places for what a warp has noted: half of them take what one such time finds

// Bit k of mine: round first + k * PCP_WARP + the thread's number in the warp. n: noted so far; returns how many are now.
PCP_FN int pcp_find(uint mine, int first, int *found, int n)
{
    const int lane = (int)(threadIdx.x % PCP_WARP);
    if (pcp_vote(mine != 0u) == 0) return n;
#pragma unroll
    for (int k = 0; k < PCP_LOOKS; k++) {
        const bool is_mine = (mine >> k & 1u) != 0u;
        const pcp_votes_t votes = pcp_vote(is_mine), before = ((pcp_votes_t)1 << lane) - 1;
        if (is_mine) found[n + pcp_count_votes(votes & before)] = first + k * PCP_WARP + lane;
        n += pcp_count_votes(votes);
    }
    return n;
}

// --- Products ---
// A matrix in memory: element (i, j) at i * row + j * col; rows and cols are where it ends.
template <class T> struct pcp_matrix_t {
    const T *at;
    int64_t row, col;
    int rows, cols;
};

PCP_FN float pcp_wide(float x) { return x; }
PCP_FN float pcp_wide(uint16_t bf16) { return pcp_f32_from_bf16(bf16); }

// A tile of SIDE x DEPTH elements, N of them by each thread, on its way from memory to memory that a block shares.
// ALONG: neighbours in memory are neighbours along SIDE.
template <int SIDE, int DEPTH, int N, bool ALONG, class T> struct pcp_panel_t {
    T held[N];
    static PCP_METHOD int side(int i)
    {
        const int e = (int)threadIdx.x + i * (SIDE * DEPTH / N);
        return ALONG ? e % SIDE : e / DEPTH;
    }
    static PCP_METHOD int depth(int i)
    {
        const int e = (int)threadIdx.x + i * (SIDE * DEPTH / N);
        return ALONG ? e / SIDE : e % DEPTH;
    }
    PCP_METHOD void load(const pcp_matrix_t<T> &x, int first, int from)
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int s = first + side(i), d = from + depth(i);
            held[i] = s < x.rows && d < x.cols ? x.at[s * x.row + d * x.col] : (T)0;
        }
    }
    PCP_METHOD void keep(float (*shared)[SIDE + 4]) const
    {
#pragma unroll
        for (int i = 0; i < N; i++) shared[depth(i)][side(i)] = pcp_wide(held[i]);
    }
    PCP_METHOD void keep_rows(T (*shared)[DEPTH + 8]) const
    {
#pragma unroll
        for (int i = 0; i < N; i++) shared[side(i)][depth(i)] = held[i];
    }
};

// A block's ROWS x COLS tile of C = A B, TALL x WIDE of it in the registers of each thread: four neighbours here, four
// there, so that a thread reads four floats at once and neighbours read neighbours. The next panels of A (m x k) and
// B (given as n x k) are on their way while these are multiplied. Terms are added in their order: the same bits in every run.
template <int ROWS, int COLS, int DEPTH, int TALL, int WIDE, bool A_ALONG, bool B_ALONG, bool ADD, class T>
PCP_FN void pcp_product(const pcp_matrix_t<T> a, const pcp_matrix_t<T> b, float *c, int64_t ldc, int row, int col)
{
    const int ACROSS = COLS / WIDE, DOWN = ROWS / TALL, THREADS = ACROSS * DOWN;
    const int TERMS = PCP_TERMS; // nvcc reads no macro in a pragma
    const int UNIT_R = TALL < 4 ? TALL : 4, UNIT_C = WIDE < 4 ? WIDE : 4;
    alignas(16) __shared__ float left[DEPTH][ROWS + 4], right[DEPTH][COLS + 4];
    const int x = (int)threadIdx.x % ACROSS, y = (int)threadIdx.x / ACROSS;
    pcp_panel_t<ROWS, DEPTH, ROWS * DEPTH / THREADS, A_ALONG, T> of_a;
    pcp_panel_t<COLS, DEPTH, COLS * DEPTH / THREADS, B_ALONG, T> of_b;
    float sum[TALL][WIDE];
#pragma unroll
    for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int j = 0; j < WIDE; j++) sum[i][j] = 0.0f;
    of_a.load(a, row, 0);
    of_b.load(b, col, 0);
    for (int from = 0; from < a.cols; from += DEPTH) {
        of_a.keep(left);
        of_b.keep(right);
        __syncthreads();
        of_a.load(a, row, from + DEPTH);
        of_b.load(b, col, from + DEPTH);
#pragma unroll TERMS
        for (int d = 0; d < DEPTH; d++) {
            float l[TALL], r[WIDE];
#pragma unroll
            for (int i = 0; i < TALL; i++) l[i] = left[d][(i / UNIT_R * DOWN + y) * UNIT_R + i % UNIT_R];
#pragma unroll
            for (int j = 0; j < WIDE; j++) r[j] = right[d][(j / UNIT_C * ACROSS + x) * UNIT_C + j % UNIT_C];
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int j = 0; j < WIDE; j++) sum[i][j] = pcp_fma_f32(l[i], r[j], sum[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TALL; i++) {
        const int at_row = row + (i / UNIT_R * DOWN + y) * UNIT_R + i % UNIT_R;
#pragma unroll
        for (int j = 0; j < WIDE; j++) {
            const int at_col = col + (j / UNIT_C * ACROSS + x) * UNIT_C + j % UNIT_C;
            if (at_row >= a.rows || at_col >= b.rows) continue;
            float *const at = c + at_row * ldc + at_col;
            *at = ADD ? *at + sum[i][j] : sum[i][j];
        }
    }
}

// --- Products of bf16 ---
#ifdef PCP_NO_MATRIX // without an instruction for matrices they are multiplied as f32
template <int ROWS, int COLS, int TALL, int WIDE, bool A_ALONG, bool B_ALONG, bool ADD>
PCP_FN void pcp_product_bf16(const pcp_matrix_t<uint16_t> a, const pcp_matrix_t<uint16_t> b, float *c, int64_t ldc,
                             int row, int col)
{
    pcp_product<ROWS, COLS, 16, ROWS / 16, COLS / 16, A_ALONG, B_ALONG, ADD>(a, b, c, ldc, row, col);
}
#else
PCP_FN uint32_t pcp_pair(const uint16_t *x) { return *(const uint32_t *)x; }

// A block's ROWS x COLS tile of C by warps, each of which has TALL x WIDE tiles of 16 x pcp_lane_t::COLS: the instruction
// multiplies 16 terms of one, and the language's pcp_lane_t says which elements are a thread's.
template <int ROWS, int COLS, int TALL, int WIDE, bool A_ALONG, bool B_ALONG, bool ADD>
PCP_FN void pcp_product_bf16(const pcp_matrix_t<uint16_t> a, const pcp_matrix_t<uint16_t> b, float *c, int64_t ldc,
                             int row, int col)
{
    const int DEPTH = 32, UNIT = pcp_lane_t::COLS, N_A = pcp_lane_t::PAIRS_A, N_B = pcp_lane_t::PAIRS_B;
    const int ACROSS = COLS / (WIDE * UNIT), THREADS = PCP_WARP * ACROSS * (ROWS / (TALL * 16));
    alignas(16) __shared__ uint16_t left[ROWS][DEPTH + 8], right[COLS][DEPTH + 8];
    const pcp_lane_t lane = pcp_lane_t::mine();
    const int warp = (int)threadIdx.x / PCP_WARP, y = warp / ACROSS * TALL * 16, x = warp % ACROSS * WIDE * UNIT;
    pcp_panel_t<ROWS, DEPTH, ROWS * DEPTH / THREADS, A_ALONG, uint16_t> of_a;
    pcp_panel_t<COLS, DEPTH, COLS * DEPTH / THREADS, B_ALONG, uint16_t> of_b;
    float sum[TALL][WIDE][4];
#pragma unroll
    for (int i = 0; i < TALL * WIDE * 4; i++) sum[i / (WIDE * 4)][i / 4 % WIDE][i % 4] = 0.0f;
    of_a.load(a, row, 0);
    of_b.load(b, col, 0);
    for (int from = 0; from < a.cols; from += DEPTH) {
        of_a.keep_rows(left);
        of_b.keep_rows(right);
        __syncthreads();
        of_a.load(a, row, from + DEPTH);
        of_b.load(b, col, from + DEPTH);
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            uint32_t l[TALL][N_A], r[WIDE][N_B];
#pragma unroll
            for (int i = 0; i < TALL * N_A; i++)
                l[i / N_A][i % N_A] = pcp_pair(&left[y + i / N_A * 16 + lane.a_row(i % N_A)][d + lane.a_depth(i % N_A)]);
#pragma unroll
            for (int j = 0; j < WIDE * N_B; j++)
                r[j / N_B][j % N_B] = pcp_pair(&right[x + j / N_B * UNIT + lane.b_col()][d + lane.b_depth(j % N_B)]);
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int j = 0; j < WIDE; j++) pcp_mma(sum[i][j], l[i], r[j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int j = 0; j < WIDE; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int at_row = row + y + i * 16 + lane.d_row(e), at_col = col + x + j * UNIT + lane.d_col(e);
                if (at_row >= a.rows || at_col >= b.rows) continue;
                float *const at = c + at_row * ldc + at_col;
                *at = ADD ? *at + sum[i][j][e] : sum[i][j][e];
            }
}
#endif
