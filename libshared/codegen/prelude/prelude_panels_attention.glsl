// Attention and its gradient by a group of threads, for GPUs (Dao 2023, FlashAttention-2): the group has ROWS rows of one side, of q,
// or of k and v for the cotangents of these, and goes over the other side STEP rows at a time, which lie in memory that it
// shares. No score leaves the group. Softmax goes along as keys come (Milakov and Gimelshein 2018); sums are f32, in the order of
// the rows: the same bits in every run.
//
// The renderer defines ACROSS, DOWN, threads of a group; ROWS, STEP, at most MOST_ROWS; N_ROW, N_KEY, rows of q and of k; D, E,
// columns of q and k, of v and o; CAUSAL: row i sees the keys up to i + OFFSET; SCALE; GRADIENT, if it is that; and functions by
// view: get_<view>(row, column), four neighbours, zeros behind the edges, get_lse(row), put_<view>(row, column, four),
// put_lse(row, x).
const int THREADS = ACROSS * DOWN;
const int TALL = ROWS / DOWN, SPAN = STEP / ACROSS;       // scores of a thread: rows DOWN apart, columns ACROSS apart
const int D4 = (D + 3) / 4, E4 = (E + 3) / 4;             // quads of a row
const int OF_D = (D4 + ACROSS - 1) / ACROSS, OF_E = (E4 + ACROSS - 1) / ACROSS; // of a thread
const int PITCH_D = D4 | 1, PITCH_E = E4 | 1;             // odd, so that neighbours read from different banks
const int PITCH_W = STEP + 4;
shared vec4 own[ROWS * PITCH_D], other[STEP * PITCH_D], other_e[STEP * PITCH_E];
shared float weights[ROWS * PITCH_W], parts[MOST_ROWS * ACROSS];
#ifdef GRADIENT
shared vec4 own_e[ROWS * PITCH_E];
shared float shift[MOST_ROWS]; // of each row of q: its log-sum-exp
#endif

bool pcp_sees(int row, int key)
{
    return key < N_KEY && (!CAUSAL || key <= row + OFFSET);
}

int pcp_x() { return int(gl_LocalInvocationIndex) % ACROSS; }
int pcp_row(int e) { return int(gl_LocalInvocationIndex) / ACROSS + DOWN * e; }
int pcp_col(int n) { return pcp_x() + ACROSS * n; }

// n rows from row `from` on into shared memory.
#define PCP_FETCH(to, pitch, quads, n, get, from)                                            \
    for (int e = int(gl_LocalInvocationIndex); e < (n) * (quads); e += THREADS)              \
        to[e / (quads) * (pitch) + e % (quads)] = get((from) + e / (quads), e % (quads) * 4);

// s[TALL * SPAN] += a b', rows of quads. Four of them in a round: all at once would be long to compile.
#define PCP_ALONG(s, a, b, pitch, quads)                                                                            \
    [[dont_unroll]] for (int from = 0; from < quads; from += 4)                                                     \
        [[unroll]] for (int k = from; k < from + 4; k++)                                                            \
            if (quads % 4 == 0 || k < quads) {                                                                      \
                vec4 l[TALL], r[SPAN];                                                                              \
                [[unroll]] for (int e = 0; e < TALL; e++) l[e] = a[pcp_row(e) * pitch + k];                         \
                [[unroll]] for (int n = 0; n < SPAN; n++) r[n] = b[pcp_col(n) * pitch + k];                         \
                [[unroll]] for (int e = 0; e < TALL; e++)                                                           \
                    [[unroll]] for (int n = 0; n < SPAN; n++)                                                       \
                        s[e * SPAN + n] = fma(l[e].w, r[n].w, fma(l[e].z, r[n].z, fma(l[e].y, r[n].y,               \
                                                                          fma(l[e].x, r[n].x, s[e * SPAN + n])))); \
            }

// d[TALL * of] += weights b: of each row every eighth quad. Those behind the last one are computed and not stored.
#define PCP_DOWN(d, of, b, pitch, quads)                                                                            \
    [[dont_unroll]] for (int from = 0; from < STEP; from += 4)                                                      \
        [[unroll]] for (int k = from; k < from + 4; k++) {                                                          \
            vec4 r[of];                                                                                             \
            [[unroll]] for (int n = 0; n < of; n++) r[n] = b[k * pitch + min(pcp_col(n), quads - 1)];               \
            [[unroll]] for (int e = 0; e < TALL; e++) {                                                             \
                const float w = weights[pcp_row(e) * PITCH_W + k];                                                  \
                [[unroll]] for (int n = 0; n < of; n++) d[e * of + n] = fma(vec4(w), r[n], d[e * of + n]);          \
            }                                                                                                       \
        }

#define PCP_KEEP(s)                                                                            \
    [[unroll]] for (int e = 0; e < TALL; e++)                                                  \
        [[unroll]] for (int n = 0; n < SPAN; n++) weights[pcp_row(e) * PITCH_W + pcp_col(n)] = s[e * SPAN + n];

#define PCP_GIVE(put, d, of, quads)                                                                           \
    [[unroll]] for (int e = 0; e < TALL; e++)                                                                 \
        [[unroll]] for (int n = 0; n < of; n++)                                                               \
            if (pcp_col(n) < quads) put(first + pcp_row(e), pcp_col(n) * 4, d[e * of + n]);

#define PCP_ZEROS(d, n, zero) [[unroll]] for (int i = 0; i < n; i++) d[i] = zero;

// Where the keys end that rows first to first + ROWS see.
int pcp_end(int first)
{
    return CAUSAL ? min(N_KEY, first + ROWS + OFFSET) : N_KEY;
}

#ifndef GRADIENT
void pcp_forward(int first)
{
    const float NEVER = uintBitsToFloat(0xFF800000u);
    const int end = pcp_end(first);
    vec4 y[TALL * OF_E];
    float most[TALL], sum[TALL], s[TALL * SPAN];
    PCP_ZEROS(y, TALL * OF_E, vec4(0.0))
    PCP_ZEROS(most, TALL, NEVER)
    PCP_ZEROS(sum, TALL, 0.0)
    PCP_FETCH(own, PITCH_D, D4, ROWS, get_q, first)
    for (int j = 0; j < end; j += STEP) {
        PCP_FETCH(other, PITCH_D, D4, STEP, get_k, j)
        PCP_FETCH(other_e, PITCH_E, E4, STEP, get_v, j)
        barrier();
        PCP_ZEROS(s, TALL * SPAN, 0.0)
        PCP_ALONG(s, own, other, PITCH_D, D4)
        [[unroll]] for (int e = 0; e < TALL; e++) {
            float top = NEVER;
            [[unroll]] for (int n = 0; n < SPAN; n++) {
                const int at = e * SPAN + n;
                s[at] = pcp_sees(first + pcp_row(e), j + pcp_col(n)) ? s[at] * SCALE : NEVER;
                top = max(top, s[at]);
            }
            parts[pcp_row(e) * ACROSS + pcp_x()] = top;
        }
        barrier();
        [[unroll]] for (int e = 0; e < TALL; e++) {
            float top = most[e];
            [[unroll]] for (int i = 0; i < ACROSS; i++) top = max(top, parts[pcp_row(e) * ACROSS + i]);
            const float fade = pcp_exp_f32(most[e] - top);
            most[e] = top;
            sum[e] *= fade;
            [[unroll]] for (int n = 0; n < SPAN; n++) {
                s[e * SPAN + n] = pcp_exp_f32(s[e * SPAN + n] - top);
                sum[e] += s[e * SPAN + n];
            }
            [[unroll]] for (int n = 0; n < OF_E; n++) y[e * OF_E + n] *= fade;
        }
        PCP_KEEP(s)
        barrier();
        PCP_DOWN(y, OF_E, other_e, PITCH_E, E4)
        barrier();
    }
    [[unroll]] for (int e = 0; e < TALL; e++) parts[pcp_row(e) * ACROSS + pcp_x()] = sum[e];
    barrier();
    [[unroll]] for (int e = 0; e < TALL; e++) {
        float all = 0.0;
        [[unroll]] for (int i = 0; i < ACROSS; i++) all += parts[pcp_row(e) * ACROSS + i];
        [[unroll]] for (int n = 0; n < OF_E; n++) y[e * OF_E + n] /= all;
        if (pcp_x() == 0) put_lse(first + pcp_row(e), most[e] + pcp_log_f32(all));
    }
    PCP_GIVE(put_y, y, OF_E, E4)
}
#else
// shift, and the parts of delta, the product of o and its cotangent, of n rows of q from row `from` on, four threads each.
void pcp_look_at(int from, int n)
{
    const int r = int(gl_LocalInvocationIndex) / 4, lane = int(gl_LocalInvocationIndex) % 4;
    float sum = 0.0;
    if (r >= n) return;
    for (int c = lane; c < E4; c += 4) {
        const vec4 g = get_g(from + r, 4 * c), y = get_y(from + r, 4 * c);
        sum = fma(g.w, y.w, fma(g.z, y.z, fma(g.y, y.y, fma(g.x, y.x, sum))));
    }
    parts[r * ACROSS + lane] = sum;
    if (lane == 0) shift[r] = get_lse(from + r);
}

float pcp_delta(int r)
{
    return (parts[r * ACROSS] + parts[r * ACROSS + 1]) + (parts[r * ACROSS + 2] + parts[r * ACROSS + 3]);
}

// s, probabilities, and z, the cotangents of the scores, of what lies in shared memory. of_keys: the group's rows are keys, those
// from j on rows of q.
void pcp_scores(out float s[TALL * SPAN], out float z[TALL * SPAN], int first, int j, bool of_keys)
{
    PCP_ZEROS(s, TALL * SPAN, 0.0)
    PCP_ZEROS(z, TALL * SPAN, 0.0)
    PCP_ALONG(s, own, other, PITCH_D, D4)
    PCP_ALONG(z, own_e, other_e, PITCH_E, E4)
    [[unroll]] for (int e = 0; e < TALL; e++)
        [[unroll]] for (int n = 0; n < SPAN; n++) {
            const int i = e * SPAN + n, r = pcp_row(e), c = pcp_col(n), at = of_keys ? c : r;
            const int row = of_keys ? j + c : first + r, key = of_keys ? first + r : j + c;
            const float p = pcp_exp_f32(s[i] * SCALE - shift[at]);
            s[i] = row < N_ROW && pcp_sees(row, key) ? p : 0.0;
            z[i] = s[i] * (z[i] - pcp_delta(at)) * SCALE;
        }
}

// The cotangent of q, for rows first to first + ROWS.
void pcp_of_rows(int first)
{
    const int end = pcp_end(first);
    vec4 d[TALL * OF_D];
    float s[TALL * SPAN], z[TALL * SPAN];
    PCP_ZEROS(d, TALL * OF_D, vec4(0.0))
    PCP_FETCH(own, PITCH_D, D4, ROWS, get_q, first)
    PCP_FETCH(own_e, PITCH_E, E4, ROWS, get_g, first)
    pcp_look_at(first, ROWS);
    for (int j = 0; j < end; j += STEP) {
        PCP_FETCH(other, PITCH_D, D4, STEP, get_k, j)
        PCP_FETCH(other_e, PITCH_E, E4, STEP, get_v, j)
        barrier();
        pcp_scores(s, z, first, j, false);
        PCP_KEEP(z)
        barrier();
        PCP_DOWN(d, OF_D, other, PITCH_D, D4)
        barrier();
    }
    PCP_GIVE(put_dq, d, OF_D, D4)
}

// The cotangents of k and v, for keys first to first + ROWS.
void pcp_of_keys(int first)
{
    const int from = CAUSAL ? max(first - OFFSET, 0) / STEP * STEP : 0; // the first row that sees one of them
    vec4 d[TALL * OF_D], d_e[TALL * OF_E];
    float s[TALL * SPAN], z[TALL * SPAN];
    PCP_ZEROS(d, TALL * OF_D, vec4(0.0))
    PCP_ZEROS(d_e, TALL * OF_E, vec4(0.0))
    PCP_FETCH(own, PITCH_D, D4, ROWS, get_k, first)
    PCP_FETCH(own_e, PITCH_E, E4, ROWS, get_v, first)
    for (int j = from; j < N_ROW; j += STEP) {
        PCP_FETCH(other, PITCH_D, D4, STEP, get_q, j)
        PCP_FETCH(other_e, PITCH_E, E4, STEP, get_g, j)
        pcp_look_at(j, STEP);
        barrier();
        pcp_scores(s, z, first, j, true);
        PCP_KEEP(s)
        barrier();
        PCP_DOWN(d_e, OF_E, other_e, PITCH_E, E4)
        barrier();
        PCP_KEEP(z)
        barrier();
        PCP_DOWN(d, OF_D, other, PITCH_D, D4)
        barrier();
    }
    PCP_GIVE(put_dk, d, OF_D, D4)
    PCP_GIVE(put_dv, d_e, OF_E, E4)
}
#endif
