// Attention and its gradient by CUDA's matrix instruction, behind prelude_attention.cuh, which has the rows in memory (Dao 2023,
// FlashAttention-2). Each of WARPS warps has 16 rows of a block, of q or of k and v. They stay in its registers as the
// instruction's left operands, and so do the weights that it makes: the accumulators of one product are laid out as the left
// operand of the next. The block shares STEP rows at a time of the other side, rounded to bf16; the next ones are on their
// way in registers while these are multiplied. Sums are f32, in the order of the rows: the same bits in every run.

// Softmax is by powers of two, to 2 ulp: weights are rounded to bf16 anyway.
#define PCP_LOG2_E 0x1.715476p+0f

// N rows of COLS numbers on their way from memory to where the block shares them. PER neighbours take turns at a row, four
// columns at once.
template <int THREADS, int N, int COLS> struct pcp_flight_t {
    enum { FOURS = COLS / 4, PER = FOURS & -FOURS, ACROSS = FOURS / PER };
    enum { STRIDE = THREADS / PER, DOWN = (N + STRIDE - 1) / STRIDE };
    typedef pcp_two_t<uint32_t> two_t; // of pairs
    float held[DOWN][ACROSS][4];
    static PCP_METHOD int row(int i) { return (int)threadIdx.x / PER + i * STRIDE; }
    static PCP_METHOD int col(int j) { return ((int)threadIdx.x % PER + j * PER) * 4; }
    static PCP_METHOD bool is_mine(int i) { return N % STRIDE == 0 || row(i) < N; }

    template <class X> PCP_METHOD void load(const X &x, int from)
    {
#pragma unroll
        for (int i = 0; i < DOWN; i++)
#pragma unroll
            for (int j = 0; j < ACROSS; j++)
                if (is_mine(i)) x.get(from + row(i), col(j), held[i][j]);
    }
    template <int LD> PCP_METHOD void keep(uint16_t (*to)[LD]) const
    {
#pragma unroll
        for (int i = 0; i < DOWN; i++)
#pragma unroll
            for (int j = 0; j < ACROSS; j++) {
                const two_t two = {{pcp_pack(held[i][j][0], held[i][j][1]), pcp_pack(held[i][j][2], held[i][j][3])}};
                if (is_mine(i)) *(two_t *)&to[row(i)][col(j)] = two;
            }
    }
    // The product of each row with the same one of y.
    PCP_METHOD void dot(const pcp_flight_t &y, float *to) const
    {
#pragma unroll
        for (int i = 0; i < DOWN; i++) {
            float sum = 0.0f;
#pragma unroll
            for (int j = 0; j < ACROSS; j++)
#pragma unroll
                for (int c = 0; c < 4; c++) sum = pcp_fma_f32(held[i][j][c], y.held[i][j][c], sum);
#pragma unroll
            for (int k = 1; k < PER; k *= 2) sum += pcp_of_neighbour(sum, k);
            if (threadIdx.x % PER == 0 && is_mine(i)) to[row(i)] = sum;
        }
    }
};

// --- Products of a warp ---
// The rows of a 16 x 16 square that a thread points the loading instruction at; of left operands, and of right ones by columns.
PCP_FN int pcp_square_row() { return (int)threadIdx.x % 16; }
PCP_FN int pcp_square_col() { return (int)threadIdx.x / 16 % 2 * 8; }

template <int K, int LD> PCP_FN void pcp_left(uint32_t (&a)[K][4], const uint16_t (*x)[LD])
{
    const uint16_t *const at = &x[(int)threadIdx.x / 32 * 16 + pcp_square_row()][pcp_square_col()];
#pragma unroll
    for (int k = 0; k < K; k++) pcp_load_square(a[k][0], a[k][1], a[k][2], a[k][3], at + k * 16);
}

// d += a b', b of 8 N rows.
template <int K, int N, int LD> PCP_FN void pcp_along(float (&d)[N][4], const uint32_t (&a)[K][4], const uint16_t (*b)[LD])
{
    const int lane = (int)threadIdx.x % 32;
    const uint16_t *const at = &b[lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8];
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            uint32_t r[2][2];
            pcp_load_square(r[0][0], r[0][1], r[1][0], r[1][1], at + n * 8 * LD + k * 16);
            pcp_mma(d[n], a[k], r[0]);
            pcp_mma(d[n + 1], a[k], r[1]);
        }
}

// d += a b, b of 16 K rows and 8 N columns.
template <int K, int N, int LD> PCP_FN void pcp_down(float (&d)[N][4], const uint32_t (&a)[K][4], const uint16_t (*b)[LD])
{
    const uint16_t *const at = &b[pcp_square_row()][pcp_square_col()];
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            uint32_t r[2][2];
            pcp_load_square_turned(r[0][0], r[0][1], r[1][0], r[1][1], at + k * 16 * LD + n * 8);
            pcp_mma(d[n], a[k], r[0]);
            pcp_mma(d[n + 1], a[k], r[1]);
        }
}

// Sums as left operands.
template <int K, int N> PCP_FN void pcp_as_left(uint32_t (&a)[K][4], const float (&d)[N][4])
{
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) a[k][i] = pcp_pack(d[2 * k + i / 2][i % 2 * 2], d[2 * k + i / 2][i % 2 * 2 + 1]);
}

// --- Both ways ---
// q and k have D columns, v and o E, filled up with zeros to multiples of 16. CAUSAL: row i sees the keys up to i + offset. scale > 0.
template <int WARPS, int STEP_, int D, int E, bool CAUSAL> struct pcp_warps_attention_t {
    enum { STEP = STEP_, ROWS = 16 * WARPS, THREADS = 32 * WARPS, N = STEP / 8, OF_D = D / 8, OF_E = E / 8 };
    enum { LD_D = D + 8, LD_E = E + 8, WIDE = D > E ? D : E };

    // What a block shares; rows are 8 numbers longer than they are, so that neighbours begin in different banks.
    union forward_t {
        uint16_t own[ROWS][LD_D];
        struct {
            uint16_t keys[STEP][LD_D], values[STEP][LD_E];
        } now;
    };
    struct backward_t {
        union {
            uint16_t own[ROWS][WIDE + 8];
            struct {
                uint16_t d[STEP][LD_D], e[STEP][LD_E]; // k and v, or q and its result's cotangent
            } turn[2];
        } rows;
        float shift[2][STEP], delta[2][STEP]; // of rows of q: log-sum-exp by powers of two; product of o and its cotangent
        float own_delta[ROWS];
    };

    static PCP_METHOD int my_row(int i) { return (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4 + 8 * i; }
    static PCP_METHOD int my_col(int n, int e) { return n * 8 + (int)threadIdx.x % 4 * 2 + e % 2; }

    static PCP_METHOD int end_of(int first, int n_key, int offset)
    {
        return CAUSAL && first + ROWS + offset < n_key ? first + ROWS + offset : n_key;
    }

    // Is there a key of j to j + STEP that one of the rows does not see?
    static PCP_METHOD bool hides(int first, int j, int n_key, int offset)
    {
        return (CAUSAL && j + STEP > first + offset + 1) || j + STEP > n_key;
    }

    template <int TILES, class Y> static PCP_METHOD void give(const Y &y, int first, const float (&d)[TILES][4], const float (&by)[2])
    {
#pragma unroll
        for (int n = 0; n < TILES; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                y.put_two(first + my_row(i), my_col(n, 0), d[n][2 * i] * by[i], d[n][2 * i + 1] * by[i]);
    }

    // Own rows, by way of what the block shares.
    template <int K, int LD, class FLIGHT> static PCP_METHOD void take(uint32_t (&a)[K][4], const FLIGHT &x, uint16_t (*room)[LD])
    {
        x.keep(room);
        __syncthreads();
        pcp_left(a, room);
        __syncthreads();
    }

    // Scores to weights. Softmax goes along as keys come (Milakov and Gimelshein 2018): `most` is known to the four threads
    // of a row, `sum` is a thread's share of the row's. by: scale, to powers of two.
    static PCP_METHOD void soften(float (&s)[N][4], float by, float (&most)[2], float (&sum)[2], float (&fade)[2])
    {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float top = most[i];
#pragma unroll
            for (int n = 0; n < N; n++) top = fmaxf(top, fmaxf(s[n][2 * i], s[n][2 * i + 1]));
            top = fmaxf(top, pcp_of_neighbour(top, 1));
            top = fmaxf(top, pcp_of_neighbour(top, 2));
            fade[i] = pcp_exp2((most[i] - top) * by);
            most[i] = top;
            sum[i] *= fade[i];
            const float shift = top * by;
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int e = 2 * i; e < 2 * i + 2; e++) {
                    s[n][e] = pcp_exp2(pcp_fma_f32(s[n][e], by, -shift));
                    sum[i] += s[n][e];
                }
        }
    }

    static PCP_METHOD void hide(float (&s)[N][4], int first, int j, int n_key, int offset)
    {
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int key = j + my_col(n, e);
                if (key >= n_key || (CAUSAL && key > first + my_row(e / 2) + offset)) s[n][e] = -INFINITY;
            }
    }

    template <class Q, class K, class V, class O, class L>
    static PCP_METHOD void forward(forward_t &room, const Q &q, const K &k, const V &v, const O &o, const L &lse, int first,
                                   float scale, int offset)
    {
        const float by = scale * PCP_LOG2_E;
        const int end = end_of(first, k.n, offset);
        uint32_t own[D / 16][4];
        float y[OF_E][4], most[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f}, fade[2];
        pcp_flight_t<THREADS, STEP, D> of_k;
        pcp_flight_t<THREADS, STEP, E> of_v;
        {
            pcp_flight_t<THREADS, ROWS, D> of_q;
            of_q.load(q, first);
            take(own, of_q, room.own);
        }
        pcp_clear(y);
        of_k.load(k, 0);
        of_k.keep(room.now.keys);
        for (int j = 0; j < end; j += STEP) {
            const bool more = j + STEP < end;
            uint32_t weights[N / 2][4];
            float s[N][4];
            __syncthreads();
            of_v.load(v, j);
            pcp_clear(s);
            pcp_along(s, own, room.now.keys);
            of_v.keep(room.now.values);
            if (more) of_k.load(k, j + STEP);
            if (hides(first, j, k.n, offset)) hide(s, first, j, k.n, offset);
            soften(s, by, most, sum, fade);
            pcp_as_left(weights, s);
#pragma unroll
            for (int n = 0; n < OF_E; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) y[n][e] *= fade[e / 2];
            __syncthreads();
            pcp_down(y, weights, room.now.values);
            if (more) of_k.keep(room.now.keys);
        }
        float by_row[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            sum[i] += pcp_of_neighbour(sum[i], 1);
            sum[i] += pcp_of_neighbour(sum[i], 2);
            by_row[i] = 1.0f / sum[i];
            if (threadIdx.x % 4 == 0) lse.put(first + my_row(i), 0, most[i] * scale + pcp_log_f32(sum[i]));
        }
        give(o, first, y, by_row);
    }

    template <class L> static PCP_METHOD float shift_of(const L &lse, int row)
    {
        float x[4];
        lse.get(row, 0, x);
        return x[0] * PCP_LOG2_E;
    }

    // The cotangent of q, for rows first to first + ROWS.
    template <class Q, class K, class V, class O, class L, class G, class DQ>
    static PCP_METHOD void of_rows(backward_t &room, const Q &q, const K &k, const V &v, const O &o, const L &lse, const G &g,
                                   const DQ &dq, int first, float scale, int offset)
    {
        const float by = scale * PCP_LOG2_E, scales[2] = {scale, scale};
        const int end = end_of(first, k.n, offset);
        uint32_t own[D / 16][4], own_e[E / 16][4], weights[N / 2][4];
        float d[OF_D][4], shift[2], delta[2];
        pcp_flight_t<THREADS, STEP, D> of_k;
        pcp_flight_t<THREADS, STEP, E> of_v;
        {
            pcp_flight_t<THREADS, ROWS, D> of_q;
            pcp_flight_t<THREADS, ROWS, E> of_g, of_o;
            of_q.load(q, first);
            take(own, of_q, room.rows.own);
            of_g.load(g, first);
            of_o.load(o, first);
            of_g.dot(of_o, room.own_delta);
            take(own_e, of_g, room.rows.own);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            shift[i] = shift_of(lse, first + my_row(i));
            delta[i] = room.own_delta[my_row(i)];
        }
        pcp_clear(d);
        of_k.load(k, 0);
        of_v.load(v, 0);
        of_k.keep(room.rows.turn[0].d);
        of_v.keep(room.rows.turn[0].e);
        for (int j = 0, turn = 0; j < end; j += STEP, turn ^= 1) {
            const bool more = j + STEP < end;
            float s[N][4], z[N][4];
            __syncthreads();
            if (more) {
                of_k.load(k, j + STEP);
                of_v.load(v, j + STEP);
            }
            pcp_clear(s);
            pcp_clear(z);
            pcp_along(s, own, room.rows.turn[turn].d);
            pcp_along(z, own_e, room.rows.turn[turn].e);
            if (hides(first, j, k.n, offset)) hide(s, first, j, k.n, offset);
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    z[n][e] = pcp_exp2(pcp_fma_f32(s[n][e], by, -shift[e / 2])) * (z[n][e] - delta[e / 2]);
            pcp_as_left(weights, z);
            pcp_down(d, weights, room.rows.turn[turn].d);
            if (more) {
                of_k.keep(room.rows.turn[turn ^ 1].d);
                of_v.keep(room.rows.turn[turn ^ 1].e);
            }
        }
        give(dq, first, d, scales);
    }

    // Of keys: what rows from j on do not see, or lie behind q's end.
    static PCP_METHOD void hide_rows(float (&s)[N][4], int first, int j, int n_row, int offset)
    {
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int row = j + my_col(n, e);
                if (row >= n_row || (CAUSAL && first + my_row(e / 2) > row + offset)) s[n][e] = -INFINITY;
            }
    }

    // The cotangents of k and v, for keys first to first + ROWS.
    template <class Q, class K, class V, class O, class L, class G, class DK, class DV>
    static PCP_METHOD void of_keys(backward_t &room, const Q &q, const K &k, const V &v, const O &o, const L &lse, const G &g,
                                   const DK &dk, const DV &dv, int first, float scale, int offset)
    {
        const float by = scale * PCP_LOG2_E, scales[2] = {scale, scale}, ones[2] = {1.0f, 1.0f};
        const int from = CAUSAL && first > offset ? (first - offset) / STEP * STEP : 0; // the first row that sees one of them
        uint32_t own[D / 16][4], own_e[E / 16][4];
        float d[OF_D][4], d_e[OF_E][4], shift = 0.0f;
        pcp_flight_t<THREADS, STEP, D> of_q;
        pcp_flight_t<THREADS, STEP, E> of_g, of_o;
        {
            pcp_flight_t<THREADS, ROWS, D> of_k;
            pcp_flight_t<THREADS, ROWS, E> of_v;
            of_k.load(k, first);
            take(own, of_k, room.rows.own);
            of_v.load(v, first);
            take(own_e, of_v, room.rows.own);
        }
        pcp_clear(d);
        pcp_clear(d_e);
        of_q.load(q, from);
        of_g.load(g, from);
        of_o.load(o, from);
        if (threadIdx.x < STEP) room.shift[0][threadIdx.x] = shift_of(lse, from + (int)threadIdx.x);
        of_q.keep(room.rows.turn[0].d);
        of_g.keep(room.rows.turn[0].e);
        of_g.dot(of_o, room.delta[0]);
        for (int j = from, turn = 0; j < q.n; j += STEP, turn ^= 1) {
            const bool more = j + STEP < q.n;
            uint32_t weights[N / 2][4];
            float s[N][4], z[N][4];
            __syncthreads();
            if (more) of_q.load(q, j + STEP);
            pcp_clear(s);
            pcp_clear(z);
            pcp_along(s, own, room.rows.turn[turn].d);
            pcp_along(z, own_e, room.rows.turn[turn].e);
            if (more) {
                of_q.keep(room.rows.turn[turn ^ 1].d);
                of_g.load(g, j + STEP);
                of_o.load(o, j + STEP);
                if (threadIdx.x < STEP) shift = shift_of(lse, j + STEP + (int)threadIdx.x);
            }
            if ((CAUSAL && first + ROWS > j + offset + 1) || j + STEP > q.n) hide_rows(s, first, j, q.n, offset);
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    s[n][e] = pcp_exp2(pcp_fma_f32(s[n][e], by, -room.shift[turn][my_col(n, e)]));
                    z[n][e] = s[n][e] * (z[n][e] - room.delta[turn][my_col(n, e)]);
                }
            pcp_as_left(weights, s);
            pcp_down(d_e, weights, room.rows.turn[turn].e);
            pcp_as_left(weights, z);
            pcp_down(d, weights, room.rows.turn[turn].d);
            if (more) {
                of_g.keep(room.rows.turn[turn ^ 1].e);
                of_g.dot(of_o, room.delta[turn ^ 1]);
                if (threadIdx.x < STEP) room.shift[turn ^ 1][threadIdx.x] = shift;
            }
        }
        give(dk, first, d, scales);
        give(dv, first, d_e, ones);
    }
};
