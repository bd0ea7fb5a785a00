// The CUDA prelude: what generated sources start with, around the C prelude (prelude_math.h, prelude_int.h), whose
// functions are those of C: the same formulas, errors and, where they name each fused step, bits. nvcc's libm is
// behind the rare ones. Integers below 32 bits have their own types here, as in C.
typedef unsigned int uint;

// --- Sums in two floats (Knuth's TwoSum): what a long one loses by rounding is carried along ---
PCP_FN void pcp_fold_sum(float &sum, float &lost, float x)
{
    float s = sum + x, t = s - sum;
    lost += (sum - (s - t)) + (x - t);
    sum = s;
}
PCP_FN float pcp_end_sum(float sum, float lost) { return lost - lost == 0 ? sum + lost : sum; }

// --- The value of the thread whose number in the warp differs in the bits of k. All threads of a warp take part ---
#define PCP_NEIGHBOUR(T, W)                                                                         \
    PCP_FN T pcp_of_neighbour(T x, int k) { return (T)__shfl_xor_sync(0xFFFFFFFFu, (W)x, k); }
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

// --- Products ---
// A matrix in memory: element (i, j) at i * row + j * col; rows and cols are where it ends.
template <class T> struct pcp_matrix_t {
    const T *at;
    int64_t row, col;
    int rows, cols;
};

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
        for (int i = 0; i < N; i++) shared[depth(i)][side(i)] = held[i];
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
template <int ROWS, int COLS, int DEPTH, int TALL, int WIDE, bool A_ALONG, bool B_ALONG, bool ADD>
PCP_FN void pcp_product(const pcp_matrix_t<float> a, const pcp_matrix_t<float> b, float *c, int64_t ldc, int row, int col)
{
    const int ACROSS = COLS / WIDE, DOWN = ROWS / TALL, THREADS = ACROSS * DOWN;
    const int UNIT_R = TALL < 4 ? TALL : 4, UNIT_C = WIDE < 4 ? WIDE : 4;
    alignas(16) __shared__ float left[DEPTH][ROWS + 4], right[DEPTH][COLS + 4];
    const int x = (int)threadIdx.x % ACROSS, y = (int)threadIdx.x / ACROSS;
    pcp_panel_t<ROWS, DEPTH, ROWS * DEPTH / THREADS, A_ALONG, float> of_a;
    pcp_panel_t<COLS, DEPTH, COLS * DEPTH / THREADS, B_ALONG, float> of_b;
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
#pragma unroll
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

// --- Products of bf16 by tensor cores ---

// d += a b for a warp: a of 16 x 16, b of 16 x 8 bf16, d of 16 x 8 f32. Thread 4 g + t has of a the pairs (g, 2 t), (g + 8, 2 t),
// (g, 2 t + 8), (g + 8, 2 t + 8); of b, by columns, (2 t, g), (2 t + 8, g); of d (g, 2 t), (g, 2 t + 1) and the same of
// row g + 8 (PTX ISA, "Matrix fragments for mma.m16n8k16").
#ifdef __CUDA_ARCH__
PCP_FN void pcp_mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#elif defined(CUDA_EMULATED_SHIM_H)
#define pcp_mma emulated_mma
#else
PCP_FN void pcp_mma(float (&)[4], const uint32_t (&)[4], const uint32_t (&)[2]) {} // the host's pass of nvcc
#endif

PCP_FN uint32_t pcp_pair(const uint16_t *x) { return *(const uint32_t *)x; }

// A block's ROWS x COLS tile of C by warps, each of which has TALL x WIDE tiles of 16 x 8.
template <int ROWS, int COLS, int TALL, int WIDE, bool A_ALONG, bool B_ALONG, bool ADD>
PCP_FN void pcp_product_bf16(const pcp_matrix_t<uint16_t> a, const pcp_matrix_t<uint16_t> b, float *c, int64_t ldc,
                             int row, int col)
{
    const int DEPTH = 32, ACROSS = COLS / (WIDE * 8), THREADS = 32 * ACROSS * (ROWS / (TALL * 16));
    alignas(16) __shared__ uint16_t left[ROWS][DEPTH + 8], right[COLS][DEPTH + 8];
    const int warp = (int)threadIdx.x / 32, g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
    const int y = warp / ACROSS * TALL * 16, x = warp % ACROSS * WIDE * 8;
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
            uint32_t l[TALL][4], r[WIDE][2];
#pragma unroll
            for (int i = 0; i < TALL * 4; i++)
                l[i / 4][i % 4] = pcp_pair(&left[y + i / 4 * 16 + g + i % 2 * 8][d + 2 * t + i % 4 / 2 * 8]);
#pragma unroll
            for (int j = 0; j < WIDE * 2; j++) r[j / 2][j % 2] = pcp_pair(&right[x + j / 2 * 8 + g][d + 2 * t + j % 2 * 8]);
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
                const int at_row = row + y + i * 16 + g + e / 2 * 8, at_col = col + x + j * 8 + 2 * t + e % 2;
                if (at_row >= a.rows || at_col >= b.rows) continue;
                float *const at = c + at_row * ldc + at_col;
                *at = ADD ? *at + sum[i][j][e] : sum[i][j][e];
            }
}

