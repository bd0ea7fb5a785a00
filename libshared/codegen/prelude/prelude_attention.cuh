// Attention and its gradient for blocks of threads of CUDA and HIP, behind prelude.cuh, for sources that use it (Dao 2023,
// FlashAttention-2). A block has ROWS rows of one side: of q, or of k and v for the cotangents of these. It goes over the other
// side STEP rows at a time. No score leaves the block, and nothing is added up by two blocks: each has sums of its own, which are f32, in
// the order of the rows: the same bits in every run.
//
// Who computes what is an *engine's* word: pcp_by_threads_t multiplies number by number, pcp_by_warps_t by the matrix
// instruction. Both have tiles of ROWS x WIDE numbers; thread `me` has EACH numbers of each tile, in OWN of its rows.

// --- Rows in memory ---
struct pcp_as_f32 {
    typedef float at_t;
    static PCP_METHOD float wide(float x) { return x; }
    static PCP_METHOD float narrow(float x) { return x; }
};
struct pcp_as_bf16 {
    typedef uint16_t at_t;
    static PCP_METHOD float wide(uint16_t x) { return pcp_f32_from_bf16(x); }
    static PCP_METHOD uint16_t narrow(float x) { return pcp_bf16_from_f32(x); }
};
struct pcp_as_f16 {
    typedef uint16_t at_t;
    static PCP_METHOD float wide(uint16_t x) { return pcp_f32_from_f16(x); }
    static PCP_METHOD uint16_t narrow(float x) { return pcp_f16_from_f32(x); }
};

template <class T> struct alignas(4 * sizeof(T)) pcp_four_t {
    T x[4];
};
template <class T> struct alignas(2 * sizeof(T)) pcp_two_t {
    T x[2];
};

// n rows, `row` elements apart, of `cols` neighbours. FOUR: every fourth column is where four may be moved at once.
template <class AS, bool FOUR> struct pcp_rows_t {
    typename AS::at_t *at;
    int64_t row;
    int n, cols;

    // y[4]: those from column c on, zeros behind the edges.
    PCP_METHOD void get(int r, int c, float (&y)[4]) const
    {
        const typename AS::at_t *const x = at + r * row + c;
        if (FOUR && r < n && c + 4 <= cols) {
            const pcp_four_t<typename AS::at_t> four = *(const pcp_four_t<typename AS::at_t> *)x;
#pragma unroll
            for (int i = 0; i < 4; i++) y[i] = AS::wide(four.x[i]);
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) y[i] = r < n && c + i < cols ? AS::wide(x[i]) : 0.0f;
    }
    PCP_METHOD void put(int r, int c, float y) const
    {
        if (r < n && c < cols) at[r * row + c] = AS::narrow(y);
    }
    // Those at c, which is even, and behind it.
    PCP_METHOD void put_two(int r, int c, float y, float z) const
    {
        typedef pcp_two_t<typename AS::at_t> two_t;
        if (FOUR && r < n && c + 2 <= cols) {
            *(two_t *)(at + r * row + c) = two_t{{AS::narrow(y), AS::narrow(z)}};
            return;
        }
        put(r, c, y);
        put(r, c + 1, z);
    }
};

// How a block keeps operands: f32, or rounded to bf16.
template <class T> PCP_FN T pcp_kept(float x);
template <> PCP_METHOD float pcp_kept<float>(float x) { return x; }
template <> PCP_METHOD uint16_t pcp_kept<uint16_t>(float x) { return pcp_bf16_from_f32(x); }

// N rows from row `from` on, COLS (a multiple of 16) of each, by all threads.
template <int THREADS, int COLS, int N, int LD, class T, class X> PCP_FN void pcp_fetch(T (&to)[N][LD], const X &x, int from)
{
    const int FOURS = COLS / 4;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < N * FOURS; e += THREADS) {
        const int r = e / FOURS, c = e % FOURS * 4;
        float y[4];
        x.get(from + r, c, y);
#pragma unroll
        for (int i = 0; i < 4; i++) to[r][c + i] = pcp_kept<T>(y[i]);
    }
}

// --- Engines ---
// along: d += a b', a and b rows of DEPTH numbers; down: d += a b, b's columns. Rows of a: those of the block; N tiles of b.

// 256 threads: one has TALL rows, 16 apart, of every 16th column.
template <class T, int TALL> struct pcp_by_threads_t {
    typedef T kept_t;
    enum { THREADS = 256, ROWS = 16 * TALL, WIDE = 16, EACH = TALL, OWN = TALL, SPAN = 16, PAD = 4 / sizeof(T) };
    int x, y;
    static PCP_METHOD pcp_by_threads_t mine() { return {(int)threadIdx.x % 16, (int)threadIdx.x / 16}; }
    PCP_METHOD int row(int e) const { return y + 16 * e; }
    PCP_METHOD int col(int n, int) const { return 16 * n + x; }
    static PCP_METHOD int own(int e) { return e; }

    template <int DEPTH, int N, int LD_A, int LD_B>
    PCP_METHOD void along(float (&d)[N][EACH], const T (*a)[LD_A], const T (*b)[LD_B]) const
    {
#pragma unroll 4
        for (int k = 0; k < DEPTH; k++) {
            float l[EACH], r[N];
#pragma unroll
            for (int e = 0; e < EACH; e++) l[e] = pcp_wide(a[row(e)][k]);
#pragma unroll
            for (int n = 0; n < N; n++) r[n] = pcp_wide(b[col(n, 0)][k]);
            add(d, l, r);
        }
    }
    template <int DEPTH, int N, int LD_A, int LD_B>
    PCP_METHOD void down(float (&d)[N][EACH], const T (*a)[LD_A], const T (*b)[LD_B]) const
    {
#pragma unroll 4
        for (int k = 0; k < DEPTH; k++) {
            float l[EACH], r[N];
#pragma unroll
            for (int e = 0; e < EACH; e++) l[e] = pcp_wide(a[row(e)][k]);
#pragma unroll
            for (int n = 0; n < N; n++) r[n] = pcp_wide(b[k][col(n, 0)]);
            add(d, l, r);
        }
    }
    template <int N> static PCP_METHOD void add(float (&d)[N][EACH], const float (&l)[EACH], const float (&r)[N])
    {
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < EACH; e++) d[n][e] = pcp_fma_f32(l[e], r[n], d[n][e]);
    }
};

#ifdef PCP_NO_MATRIX // the same numbers, multiplied as f32
typedef pcp_by_threads_t<uint16_t, 4> pcp_by_warps_t;
#else
// Four warps of 16 rows each; pcp_lane_t says which numbers are a thread's.
struct pcp_by_warps_t {
    typedef uint16_t kept_t;
    enum { THREADS = 4 * PCP_WARP, ROWS = 64, WIDE = pcp_lane_t::COLS, EACH = 4, PAD = 8 };
    enum { OWN = pcp_lane_t::ROWS, SPAN = pcp_lane_t::SPAN, N_A = pcp_lane_t::PAIRS_A, N_B = pcp_lane_t::PAIRS_B };
    int first;
    pcp_lane_t lane;
    static PCP_METHOD pcp_by_warps_t mine() { return {(int)threadIdx.x / PCP_WARP * 16, pcp_lane_t::mine()}; }
    PCP_METHOD int row(int e) const { return first + lane.d_row(e); }
    PCP_METHOD int col(int n, int e) const { return n * WIDE + lane.d_col(e); }
    static PCP_METHOD int own(int e) { return e * OWN / EACH; }

    template <int LD> PCP_METHOD void left(uint32_t (&l)[N_A], const uint16_t (*a)[LD], int k) const
    {
#pragma unroll
        for (int i = 0; i < N_A; i++) l[i] = pcp_pair(&a[first + lane.a_row(i)][k + lane.a_depth(i)]);
    }
    template <int DEPTH, int N, int LD_A, int LD_B>
    PCP_METHOD void along(float (&d)[N][EACH], const uint16_t (*a)[LD_A], const uint16_t (*b)[LD_B]) const
    {
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            uint32_t l[N_A], r[N_B];
            left(l, a, k);
#pragma unroll
            for (int n = 0; n < N; n++) {
#pragma unroll
                for (int j = 0; j < N_B; j++) r[j] = pcp_pair(&b[n * WIDE + lane.b_col()][k + lane.b_depth(j)]);
                pcp_mma(d[n], l, r);
            }
        }
    }
    template <int DEPTH, int N, int LD_A, int LD_B>
    PCP_METHOD void down(float (&d)[N][EACH], const uint16_t (*a)[LD_A], const uint16_t (*b)[LD_B]) const
    {
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            uint32_t l[N_A], r[N_B];
            left(l, a, k);
#pragma unroll
            for (int n = 0; n < N; n++) {
#pragma unroll
                for (int j = 0; j < N_B; j++) {
                    const uint16_t *const at = &b[k + lane.b_depth(j)][n * WIDE + lane.b_col()];
                    r[j] = at[0] | (uint32_t)at[LD_B] << 16;
                }
                pcp_mma(d[n], l, r);
            }
        }
    }
};
#endif

template <int N, int EACH> PCP_FN void pcp_clear(float (&d)[N][EACH])
{
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int e = 0; e < EACH; e++) d[n][e] = 0.0f;
}

// --- Both ways ---
// q and k have D columns, v and o E, filled up with zeros to multiples of 16. CAUSAL: row i sees the keys up to i + offset.
template <class ENGINE, int STEP_, int D, int E, bool CAUSAL> struct pcp_attention_t {
    typedef typename ENGINE::kept_t T;
    enum { STEP = STEP_, ROWS = ENGINE::ROWS, THREADS = ENGINE::THREADS, EACH = ENGINE::EACH, OWN = ENGINE::OWN };
    enum { PAD = ENGINE::PAD, N = STEP / ENGINE::WIDE, OF_D = D / ENGINE::WIDE, OF_E = E / ENGINE::WIDE };

    struct forward_t { // what a block shares
        T rows[ROWS][D + PAD], keys[STEP][D + PAD], values[STEP][E + PAD], weights[ROWS][STEP + PAD];
    };
    struct backward_t {
        T own[ROWS][D + PAD], own_e[ROWS][E + PAD], other[STEP][D + PAD], other_e[STEP][E + PAD], weights[ROWS][STEP + PAD];
        float shift[ROWS], delta[ROWS]; // of each row of q: its log-sum-exp, and the product of o and its cotangent
    };

    static PCP_METHOD bool sees(int row, int key, int n_key, int offset)
    {
        return key < n_key && (!CAUSAL || key <= row + offset);
    }

    // Where the keys end that rows first to first + ROWS see.
    static PCP_METHOD int end_of(int first, int n_key, int offset)
    {
        return CAUSAL && first + ROWS + offset < n_key ? first + ROWS + offset : n_key;
    }

    static PCP_METHOD void keep(T (&weights)[ROWS][STEP + PAD], const ENGINE &me, const float (&s)[N][EACH])
    {
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < EACH; e++) weights[me.row(e)][me.col(n, e)] = pcp_kept<T>(s[n][e]);
    }

    template <int TILES, class Y>
    static PCP_METHOD void give(const ENGINE &me, const Y &y, int first, const float (&d)[TILES][EACH])
    {
#pragma unroll
        for (int n = 0; n < TILES; n++)
#pragma unroll
            for (int e = 0; e < EACH; e++) y.put(first + me.row(e), me.col(n, e), d[n][e]);
    }

    // Softmax goes along as keys come (Milakov and Gimelshein 2018). `most` is known to all threads of a row, `sum` is a
    // thread's share of the row's.
    static PCP_METHOD void soften(const ENGINE &me, float (&s)[N][EACH], float (&most)[OWN], float (&sum)[OWN],
                                  float (&fade)[OWN])
    {
        float top[OWN];
#pragma unroll
        for (int r = 0; r < OWN; r++) top[r] = most[r];
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < EACH; e++) top[me.own(e)] = s[n][e] > top[me.own(e)] ? s[n][e] : top[me.own(e)];
#pragma unroll
        for (int r = 0; r < OWN; r++) {
#pragma unroll
            for (int k = 1; k < ENGINE::SPAN; k *= 2) {
                const float other = pcp_of_neighbour(top[r], k);
                top[r] = other > top[r] ? other : top[r];
            }
            fade[r] = pcp_exp_f32(most[r] - top[r]);
            sum[r] *= fade[r];
            most[r] = top[r];
        }
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                s[n][e] = pcp_exp_f32(s[n][e] - most[me.own(e)]);
                sum[me.own(e)] += s[n][e];
            }
    }

    template <class Q, class K, class V, class O, class L>
    static PCP_METHOD void forward(forward_t &room, const Q &q, const K &k, const V &v, const O &o, const L &lse, int first,
                                   float scale, int offset)
    {
        const ENGINE me = ENGINE::mine();
        const float NEVER = -INFINITY;
        const int end = end_of(first, k.n, offset);
        float s[N][EACH], y[OF_E][EACH], most[OWN], sum[OWN], fade[OWN];
        pcp_clear(y);
#pragma unroll
        for (int r = 0; r < OWN; r++) most[r] = NEVER, sum[r] = 0.0f;
        pcp_fetch<THREADS, D>(room.rows, q, first);
        for (int j = 0; j < end; j += STEP) {
            pcp_fetch<THREADS, D>(room.keys, k, j);
            pcp_fetch<THREADS, E>(room.values, v, j);
            __syncthreads();
            pcp_clear(s);
            me.template along<D>(s, room.rows, room.keys);
#pragma unroll
            for (int n = 0; n < N; n++)
#pragma unroll
                for (int e = 0; e < EACH; e++)
                    s[n][e] = sees(first + me.row(e), j + me.col(n, e), k.n, offset) ? s[n][e] * scale : NEVER;
            soften(me, s, most, sum, fade);
            keep(room.weights, me, s);
#pragma unroll
            for (int n = 0; n < OF_E; n++)
#pragma unroll
                for (int e = 0; e < EACH; e++) y[n][e] *= fade[me.own(e)];
            pcp_sync_warp();
            me.template down<STEP>(y, room.weights, room.values);
            __syncthreads();
        }
#pragma unroll
        for (int r = 0; r < OWN; r++)
#pragma unroll
            for (int k = 1; k < ENGINE::SPAN; k *= 2) sum[r] += pcp_of_neighbour(sum[r], k);
#pragma unroll
        for (int n = 0; n < OF_E; n++)
#pragma unroll
            for (int e = 0; e < EACH; e++) y[n][e] /= sum[me.own(e)];
        give(me, o, first, y);
#pragma unroll
        for (int e = 0; e < EACH; e++)
            if (me.col(0, e) == 0) lse.put(first + me.row(e), 0, most[me.own(e)] + pcp_log_f32(sum[me.own(e)]));
    }

    // shift and delta of n_row rows of q from row `from` on; some neighbours have a row together.
    template <int N_ROW, class G, class O, class L>
    static PCP_METHOD void look_at(backward_t &room, const G &g, const O &o, const L &lse, int from)
    {
        const int PER = THREADS / N_ROW, lane = (int)threadIdx.x % PER, r = (int)threadIdx.x / PER;
        float sum = 0.0f, a[4], b[4];
        for (int c = 4 * lane; c < E; c += 4 * PER) {
            g.get(from + r, c, a);
            o.get(from + r, c, b);
#pragma unroll
            for (int i = 0; i < 4; i++) sum = pcp_fma_f32(a[i], b[i], sum);
        }
#pragma unroll
        for (int k = 1; k < PER; k *= 2) sum += pcp_of_neighbour(sum, k);
        if (lane > 0) return;
        lse.get(from + r, 0, a);
        room.shift[r] = a[0];
        room.delta[r] = sum;
    }

    // s, the scores, and z, their cotangents before the softmax, to probabilities and to the cotangents of the scores. first and j:
    // the block's rows, and the other side's; OF_KEYS: those are keys, these rows of q.
    template <bool OF_KEYS>
    static PCP_METHOD void turn(const backward_t &room, const ENGINE &me, float (&s)[N][EACH], float (&z)[N][EACH], int first,
                                int j, int n_row, int n_key, float scale, int offset)
    {
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int own = first + me.row(e), other = j + me.col(n, e), at = OF_KEYS ? me.col(n, e) : me.row(e);
                const int row = OF_KEYS ? other : own, key = OF_KEYS ? own : other;
                const float p = pcp_exp_f32(s[n][e] * scale - room.shift[at]);
                s[n][e] = row < n_row && sees(row, key, n_key, offset) ? p : 0.0f;
                z[n][e] = s[n][e] * (z[n][e] - room.delta[at]) * scale;
            }
    }

    // The cotangent of q, for rows first to first + ROWS.
    template <class Q, class K, class V, class O, class L, class G, class DQ>
    static PCP_METHOD void of_rows(backward_t &room, const Q &q, const K &k, const V &v, const O &o, const L &lse, const G &g,
                                   const DQ &dq, int first, float scale, int offset)
    {
        const ENGINE me = ENGINE::mine();
        const int end = end_of(first, k.n, offset);
        float s[N][EACH], z[N][EACH], d[OF_D][EACH];
        pcp_clear(d);
        pcp_fetch<THREADS, D>(room.own, q, first);
        pcp_fetch<THREADS, E>(room.own_e, g, first);
        look_at<ROWS>(room, g, o, lse, first);
        for (int j = 0; j < end; j += STEP) {
            pcp_fetch<THREADS, D>(room.other, k, j);
            pcp_fetch<THREADS, E>(room.other_e, v, j);
            __syncthreads();
            pcp_clear(s);
            pcp_clear(z);
            me.template along<D>(s, room.own, room.other);
            me.template along<E>(z, room.own_e, room.other_e);
            turn<false>(room, me, s, z, first, j, q.n, k.n, scale, offset);
            keep(room.weights, me, z);
            pcp_sync_warp();
            me.template down<STEP>(d, room.weights, room.other);
            __syncthreads();
        }
        give(me, dq, first, d);
    }

    // The cotangents of k and v, for keys first to first + ROWS.
    template <class Q, class K, class V, class O, class L, class G, class DK, class DV>
    static PCP_METHOD void of_keys(backward_t &room, const Q &q, const K &k, const V &v, const O &o, const L &lse, const G &g,
                                   const DK &dk, const DV &dv, int first, float scale, int offset)
    {
        const ENGINE me = ENGINE::mine();
        const int from = CAUSAL && first > offset ? (first - offset) / STEP * STEP : 0; // the first row that sees one of them
        float s[N][EACH], z[N][EACH], d[OF_D][EACH], d_e[OF_E][EACH];
        pcp_clear(d);
        pcp_clear(d_e);
        pcp_fetch<THREADS, D>(room.own, k, first);
        pcp_fetch<THREADS, E>(room.own_e, v, first);
        for (int j = from; j < q.n; j += STEP) {
            pcp_fetch<THREADS, D>(room.other, q, j);
            pcp_fetch<THREADS, E>(room.other_e, g, j);
            look_at<STEP>(room, g, o, lse, j);
            __syncthreads();
            pcp_clear(s);
            pcp_clear(z);
            me.template along<D>(s, room.own, room.other);
            me.template along<E>(z, room.own_e, room.other_e);
            turn<true>(room, me, s, z, first, j, q.n, k.n, scale, offset);
            keep(room.weights, me, s);
            pcp_sync_warp();
            me.template down<STEP>(d_e, room.weights, room.other_e);
            pcp_sync_warp();
            keep(room.weights, me, z);
            pcp_sync_warp();
            me.template down<STEP>(d, room.weights, room.other);
            __syncthreads();
        }
        give(me, dk, first, d);
        give(me, dv, first, d_e);
    }
};
