// A product by a group of threads, for GPUs: a tile of C of SIDE x SIDE numbers, PER x PER of them in the registers of each
// thread, and in memory that the group shares panels of DEPTH terms of both operands: each element comes from memory once
// for the tile, and a thread reads four at once. The next panels are on their way while these are multiplied. Terms
// are added in their order: the same bits in every run.
//
// The renderer defines SIDE, PER; M, N, K; LD_A, LD_B, LD_C, from a line in memory to the next; ALONG_A, ALONG_B: neighbours in
// memory are terms of the sum, else rows of A or columns of B; FOURS_A, FOURS_B, FOURS_C: four of them are one load;
// ADD: to what C has; and pcp_one(segment, at), an element of A or B.
const int DEPTH = 16, ACROSS = SIDE / PER, THREADS = ACROSS * ACROSS, QUADS = PER / 4;
const int BLOCKS = SIDE * DEPTH / 16; // of 4 x 4 elements in a panel: one for each thread, or for half of them
const int PITCH = SIDE / 4 + 1;       // from a term of a panel to the next, in quads; one more, for the sake of banks
shared vec4 panel_a[DEPTH * PITCH], panel_b[DEPTH * PITCH];

// A block of 4 x 4 elements: where it begins in the panel, as a term and a line (a row of A, a column of B).
ivec2 pcp_block(int block, bool along)
{
    return 4 * (along ? ivec2(block % (DEPTH / 4), block / (DEPTH / 4)) : ivec2(block / (SIDE / 4), block % (SIDE / 4)));
}

// Elements of one line at four terms from `term` on; zeros behind the last one.
vec4 pcp_terms(uint g, int at, int term, bool fours)
{
    vec4 x = vec4(0.0);
    if (fours) {
        if (term < K) x = pcp_load4(g, at);
    } else {
        [[unroll]] for (int i = 0; i < 4; i++)
            if (term + i < K) x[i] = pcp_one(g, at + i);
    }
    return x;
}

// Elements of one term at four lines from `line` on; behind the last line they are any.
vec4 pcp_lines(uint g, int at, int line, int lines, bool fours)
{
    vec4 x;
    if (fours) {
        x = pcp_load4(g, at + min(line, lines - 4));
    } else {
        [[unroll]] for (int i = 0; i < 4; i++) x[i] = pcp_one(g, at + min(line + i, lines - 1));
    }
    return x;
}

// A block as its four terms, each of four lines. `first`, `from`: line and term that the panel begins with.
mat4 pcp_fetch(uint g, int base, int first, int from, int block, int lines, int ld, bool along, bool fours)
{
    const ivec2 at = pcp_block(block, along);
    const int term = from + at.x, line = first + at.y;
    mat4 x;
    [[unroll]] for (int i = 0; i < 4; i++) {
        if (along)
            x[i] = pcp_terms(g, base + min(line + i, lines - 1) * ld + term, term, fours);
        else
            x[i] = term + i < K ? pcp_lines(g, base + (term + i) * ld, line, lines, fours) : vec4(0.0);
    }
    return along ? transpose(x) : x;
}

// Where a thread's part of C begins: of its quad `i` of four neighbours.
int pcp_quad(int i, int thread)
{
    return 4 * (i * ACROSS + thread);
}

void pcp_keep(uint g, int c, int row, int col, int y, int x, vec4 sum[PER * QUADS])
{
    [[unroll]] for (int i = 0; i < PER; i++) {
        const int at_row = row + pcp_quad(i / 4, y) + i % 4;
        [[unroll]] for (int j = 0; j < QUADS; j++) {
            const int at_col = col + pcp_quad(j, x), at = c + at_row * LD_C + at_col;
            const vec4 s = sum[i * QUADS + j];
            if (at_row >= M || at_col >= N) continue;
            if (FOURS_C) {
                pcp_store4(g, at, ADD ? pcp_load4(g, at) + s : s);
            } else {
                [[unroll]] for (int k = 0; k < 4; k++)
                    if (at_col + k < N) m_f32(g)[at + k] = ADD ? m_f32(g)[at + k] + s[k] : s[k];
            }
        }
    }
}

// A, B and C begin at elements a, b, c of segments ga, gb, gc; the tile at (row, col). All threads of the group come.
void pcp_panels(uint ga, int a, uint gb, int b, uint gc, int c, int row, int col)
{
    const int thread = int(gl_LocalInvocationIndex), other = thread - (THREADS - BLOCKS);
    const int y = thread / ACROSS, x = thread % ACROSS;
    const ivec2 to_a = pcp_block(thread, ALONG_A), to_b = pcp_block(other, ALONG_B);
    mat4 next_a, next_b;
    vec4 sum[PER * QUADS];
    [[unroll]] for (int i = 0; i < PER * QUADS; i++) sum[i] = vec4(0.0);
    if (thread < BLOCKS) next_a = pcp_fetch(ga, a, row, 0, thread, M, LD_A, ALONG_A, FOURS_A);
    if (other >= 0) next_b = pcp_fetch(gb, b, col, 0, other, N, LD_B, ALONG_B, FOURS_B);
    for (int from = 0; from < K; from += DEPTH) {
        [[unroll]] for (int i = 0; i < 4; i++) {
            if (thread < BLOCKS) panel_a[(to_a.x + i) * PITCH + to_a.y / 4] = next_a[i];
            if (other >= 0) panel_b[(to_b.x + i) * PITCH + to_b.y / 4] = next_b[i];
        }
        barrier();
        if (from + DEPTH < K) {
            if (thread < BLOCKS) next_a = pcp_fetch(ga, a, row, from + DEPTH, thread, M, LD_A, ALONG_A, FOURS_A);
            if (other >= 0) next_b = pcp_fetch(gb, b, col, from + DEPTH, other, N, LD_B, ALONG_B, FOURS_B);
        }
        for (int d = 0; d < DEPTH; d++) {
            vec4 right[QUADS];
            [[unroll]] for (int j = 0; j < QUADS; j++) right[j] = panel_b[d * PITCH + j * ACROSS + x];
            [[unroll]] for (int q = 0; q < QUADS; q++) {
                const vec4 left = panel_a[d * PITCH + q * ACROSS + y];
                [[unroll]] for (int i = 0; i < 4; i++)
                    [[unroll]] for (int j = 0; j < QUADS; j++) {
                        const int at = (q * 4 + i) * QUADS + j;
                        sum[at] = fma(vec4(left[i]), right[j], sum[at]);
                    }
            }
        }
        barrier();
    }
    pcp_keep(gc, c, row, col, y, x, sum);
}
