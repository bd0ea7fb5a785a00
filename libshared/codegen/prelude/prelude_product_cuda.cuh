// Products of bf16 by CUDA's asynchronous copies, behind prelude.cuh: for operands whose rows begin, and end, at multiples of
// eight numbers, which are copied sixteen bytes at a time. STAGES panels of each operand lie in shared memory; while one is
// multiplied the others are on their way. A warp multiplies HIGH x WIDE of C by fragments that it loads as squares of 16 x 16,
// those of the next step while it multiplies. A sum that is longer than C is large is cut in parts, each of another block,
// which add to C in their order. Terms and parts are added in their order: the same bits in every run.

// DEPTH terms of SIDE rows. Memory's neighbours stay neighbours, eight by eight; ALONG: they are neighbours along SIDE. Eights
// that lie one above the other are kept in different banks: those of a square, and those that neighbours copy.
template <int SIDE, int DEPTH, int THREADS, bool ALONG> struct pcp_sheet_t {
    enum { WIDTH = ALONG ? SIDE : DEPTH, ACROSS = WIDTH / 8, NUMBERS = SIDE * DEPTH, N = NUMBERS / 8 / THREADS };
    enum { DOWN = THREADS / ACROSS }; // rows from one eight of a thread to its next
    const uint16_t *at;               // the thread's first eight of the next panel
    int64_t ld;
    int row, unit; // the same one, in the panel
    int rows, cols, first, from;

    static PCP_METHOD int place(int row, int unit)
    {
        return row * WIDTH + (unit ^ (ACROSS < 8 ? row / 2 % ACROSS : row % 8)) * 8;
    }

    // Terms begin..end of rows first.. of x.
    PCP_METHOD pcp_sheet_t(const pcp_matrix_t<uint16_t> &x, int first_, int begin, int end)
    {
        row = (int)threadIdx.x / ACROSS, unit = (int)threadIdx.x % ACROSS;
        rows = x.rows, cols = end, first = first_, from = begin;
        ld = ALONG ? x.col : x.row;
        at = x.at + (int64_t)(ALONG ? from + row : first + row) * ld + (ALONG ? first : from) + unit * 8;
    }

    // Is there anything at the thread's eight of row `row`? WHOLE_SIDE, WHOLE_DEPTH: no panel goes over that edge.
    template <bool WHOLE_SIDE, bool WHOLE_DEPTH> PCP_METHOD bool is_there(int row) const
    {
        const int side = first + (ALONG ? unit * 8 : row), depth = from + (ALONG ? row : unit * 8);
        return (WHOLE_SIDE || side < rows) && (WHOLE_DEPTH || depth < cols);
    }

    // The next panel sets off; zeros stand for what lies behind the edges.
    template <bool WHOLE_SIDE, bool WHOLE_DEPTH> PCP_METHOD void start(uint16_t *to)
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            pcp_copy_start(to + place(row + i * DOWN, unit), at + i * DOWN * ld,
                           is_there<WHOLE_SIDE, WHOLE_DEPTH>(row + i * DOWN));
        from += DEPTH;
        at += ALONG ? DEPTH * ld : DEPTH;
    }

    // Rows side.. and terms depth.. of a panel as an operand: (0, 0), (8, 0), (0, 8), (8, 8), or (DEEP) (0, 0), (0, 8), (8, 0),
    // (8, 8). An instruction's operands are neighbours among the registers, and so are those that are loaded at once.
    template <bool DEEP>
    static PCP_METHOD void square(uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d, const uint16_t *panel, int side, int depth)
    {
        const int lane = (int)threadIdx.x % 32, second = lane / 8 % 2, third = lane / 16;
        const int in_side = DEEP ? third : second, in_depth = DEEP ? second : third;
        if (ALONG)
            pcp_load_square_turned(a, b, c, d, panel + place(depth + in_depth * 8 + lane % 8, side / 8 + in_side));
        else
            pcp_load_square(a, b, c, d, panel + place(side + in_side * 8 + lane % 8, depth / 8 + in_depth));
    }
};

// Parts of a tile's sum take turns; 0 before and after each launch. Launches that share this follow each other. The renderer says
// how many tiles may have parts.
static __device__ unsigned pcp_turn[PCP_TURNS];

// Tiles that run at the same time have rows and columns in common, which the second cache keeps: eight rows of tiles together.
PCP_FN void pcp_place_tile(uint tile, uint n_row, uint n_col, int &row, int &col)
{
    const uint HIGH = 8, first = tile / (HIGH * n_col) * HIGH, rest = tile % (HIGH * n_col);
    const uint high = n_row - first < HIGH ? n_row - first : HIGH;
    row = int(first + rest % high);
    col = int(rest / high);
}

template <int ROWS, int COLS, int HIGH, int WIDE, int STAGES, bool A_ALONG, bool B_ALONG> struct pcp_staged_t {
    enum { DEPTH = 32, STEPS = DEPTH / 16, WARPS_ACROSS = COLS / WIDE, THREADS = 32 * WARPS_ACROSS * (ROWS / HIGH) };
    enum { TALL = HIGH / 16, BROAD = WIDE / 8 };
    typedef pcp_sheet_t<ROWS, DEPTH, THREADS, A_ALONG> left_t;
    typedef pcp_sheet_t<COLS, DEPTH, THREADS, B_ALONG> right_t;
    struct room_t {
        uint16_t left[STAGES][left_t::NUMBERS], right[STAGES][right_t::NUMBERS];
    };
    struct operands_t {
        uint32_t l[TALL][4], r[BROAD][2];
        PCP_METHOD void load(const room_t &room, int stage, int depth)
        {
#pragma unroll
            for (int i = 0; i < TALL; i++)
                left_t::template square<false>(l[i][0], l[i][1], l[i][2], l[i][3], room.left[stage], my_row() + i * 16, depth);
#pragma unroll
            for (int j = 0; j < BROAD; j += 2)
                right_t::template square<true>(r[j][0], r[j][1], r[j + 1][0], r[j + 1][1], room.right[stage], my_col() + j * 8,
                                               depth);
        }
    };
    static PCP_METHOD int my_row() { return (int)threadIdx.x / 32 / WARPS_ACROSS * HIGH; }
    static PCP_METHOD int my_col() { return (int)threadIdx.x / 32 % WARPS_ACROSS * WIDE; }

    static PCP_METHOD void multiply(float (&sum)[TALL][BROAD][4], const operands_t &x)
    {
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int j = 0; j < BROAD; j++) pcp_mma(sum[i][j], x.l[i], x.r[j]);
    }

    // WHOLE_*: panels end where rows, columns and terms do. A panel is awaited, and the block told so, a step before the
    // one that it is for; the place of the panel before is free from then on.
    template <bool WHOLE_ROWS, bool WHOLE_COLS, bool WHOLE_DEPTH>
    static PCP_METHOD void add_terms(room_t &room, float (&sum)[TALL][BROAD][4], left_t a, right_t b)
    {
        const int n = (a.cols - a.from + DEPTH - 1) / DEPTH;
        operands_t x[2];
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < n) {
                a.template start<WHOLE_ROWS, WHOLE_DEPTH>(room.left[s]);
                b.template start<WHOLE_COLS, WHOLE_DEPTH>(room.right[s]);
            }
            pcp_copy_end();
        }
        pcp_copy_wait<STAGES - 2>();
        __syncthreads();
        x[0].load(room, 0, 0);
        int stage = 0, spare = STAGES - 1;
        for (int panel = 0; panel < n; panel++) {
#pragma unroll
            for (int step = 0; step < STEPS; step++) {
                if (step == STEPS - 1) {
                    pcp_copy_wait<STAGES - 2>();
                    __syncthreads();
                    spare = stage;
                    stage = stage == STAGES - 1 ? 0 : stage + 1;
                }
                x[(step + 1) % 2].load(room, stage, (step + 1) % STEPS * 16);
                if (step == 0) {
                    if (panel + STAGES - 1 < n) {
                        a.template start<WHOLE_ROWS, WHOLE_DEPTH>(room.left[spare]);
                        b.template start<WHOLE_COLS, WHOLE_DEPTH>(room.right[spare]);
                    }
                    pcp_copy_end();
                }
                multiply(sum, x[step % 2]);
            }
        }
    }

    // PAIRS: neighbours of C are one word in memory.
    template <bool PAIRS> static PCP_METHOD void give(float *at, float x, float y, bool two, bool add)
    {
        if (PAIRS) {
            const float2 old = add ? pcp_past((const float2 *)at) : float2{0.0f, 0.0f};
            *(float2 *)at = add ? float2{old.x + x, old.y + y} : float2{x, y};
            return;
        }
        at[0] = add ? pcp_past(at) + x : x;
        if (two) at[1] = add ? pcp_past(at + 1) + y : y;
    }
    template <bool PAIRS>
    static PCP_METHOD void keep(const float (&sum)[TALL][BROAD][4], float *c, int64_t ldc, int rows, int cols, int row, int col,
                                bool add)
    {
        const pcp_lane_t lane = pcp_lane_t::mine();
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int y = row + my_row() + i * 16 + lane.d_row(2 * half);
                if (y >= rows) continue;
#pragma unroll
                for (int j = 0; j < BROAD; j++) {
                    const int x = col + my_col() + j * 8 + lane.d_col(0);
                    if (x < cols)
                        give<PAIRS>(c + y * ldc + x, sum[i][j][2 * half], sum[i][j][2 * half + 1], x + 1 < cols, add);
                }
            }
    }

    // Tile (row, col) of C = A B, or of C += A B (add): part `part` of `parts` of its terms.
    template <bool WHOLE_ROWS, bool WHOLE_COLS, bool WHOLE_DEPTH, bool PAIRS>
    static PCP_METHOD void run(const pcp_matrix_t<uint16_t> &a, const pcp_matrix_t<uint16_t> &b, float *c, int64_t ldc, int row,
                               int col, bool add, int part, int parts, int each, unsigned *turn)
    {
        alignas(128) __shared__ room_t room;
        const int begin = part * each, end = begin + each < a.cols ? begin + each : a.cols;
        float sum[TALL][BROAD][4];
#pragma unroll
        for (int i = 0; i < TALL * BROAD * 4; i++) sum[i / (BROAD * 4)][i / 4 % BROAD][i % 4] = 0.0f;
        add_terms<WHOLE_ROWS, WHOLE_COLS, WHOLE_DEPTH>(room, sum, left_t(a, row, begin, end), right_t(b, col, begin, end));
        if (parts > 1) {
            if (threadIdx.x == 0) pcp_await_turn(turn, (unsigned)part);
            __syncthreads();
        }
        keep<PAIRS>(sum, c, ldc, a.rows, b.rows, row, col, add || part > 0);
        if (parts > 1) {
            __syncthreads();
            if (threadIdx.x == 0) pcp_give_turn(turn, part + 1 < parts ? (unsigned)part + 1 : 0u);
        }
    }
};
