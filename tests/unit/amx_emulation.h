/* For tests of text that uses codegen/c/tile_amx.h: put before it, it runs anywhere. */
#ifndef TESTS_AMX_EMULATION_H
#define TESTS_AMX_EMULATION_H

#include "codegen/c/compiler.h"
#include "codegen/codegen.h"

/* The tile instructions of AMX, as the manual defines them, for code that is to run anywhere. What
 * they fault on traps. */
static const char amx_emulation[] =
    "#include <stdint.h>\n"
    "#define FAST __attribute__((noinline, optimize(3)))\n"
    "typedef struct { uint8_t config[64]; union { uint8_t byte[64]; uint16_t half[32]; float "
    "f32[16]; int8_t i8[64]; int32_t i32[16]; }\n"
    "    row[8][16]; } emu_t;\n"
    "static _Thread_local emu_t emu;\n"
    "static int emu_rows(int t) { return emu.config[48 + t]; }\n"
    "static int emu_bytes(int t) { return emu.config[16 + 2 * t] + 256 * emu.config[17 + 2 * t]; "
    "}\n"
    "static void emu_config(const uint8_t *x)\n{\n"
    "    __builtin_memcpy(emu.config, x, 64);\n"
    "    __builtin_memset(emu.row, 0, sizeof emu.row);\n"
    "    if (x[0] != 1) __builtin_trap();\n"
    "    for (int t = 0; t < 8; t++)\n"
    "        if (emu_rows(t) > 16 || emu_bytes(t) > 64 || emu_bytes(t) % 4) __builtin_trap();\n}\n"
    "static void emu_load(int t, const void *x, int64_t s)\n{\n"
    "    if (emu_rows(t) == 0 || emu_bytes(t) == 0) __builtin_trap();\n"
    "    __builtin_memset(emu.row[t], 0, sizeof emu.row[t]);\n"
    "    for (int r = 0; r < emu_rows(t); r++)\n"
    "        __builtin_memcpy(emu.row[t][r].byte, (const char *)x + r * s, emu_bytes(t));\n}\n"
    "static void emu_store(int t, void *x, int64_t s)\n{\n"
    "    if (emu_rows(t) == 0 || emu_bytes(t) == 0) __builtin_trap();\n"
    "    for (int r = 0; r < emu_rows(t); r++)\n"
    "        __builtin_memcpy((char *)x + r * s, emu.row[t][r].byte, emu_bytes(t));\n}\n"
    "static float emu_float(uint16_t x)\n{\n"
    "    uint32_t bits = (uint32_t)x << 16;\n    float y;\n"
    "    __builtin_memcpy(&y, &bits, 4);\n    return y;\n}\n"
    "FAST static void emu_dot(int c, int a, int b)\n{\n"
    "    if (emu_bytes(a) / 4 != emu_rows(b) || emu_rows(a) != emu_rows(c) ||\n"
    "        emu_bytes(b) != emu_bytes(c) || emu_rows(c) == 0) __builtin_trap();\n"
    "    for (int m = 0; m < emu_rows(c); m++)\n"
    "        for (int k = 0; k < emu_bytes(a) / 4; k++)\n"
    "            for (int n = 0; n < emu_bytes(c) / 4; n++)\n"
    "                for (int h = 0; h < 2; h++)\n"
    "                    emu.row[c][m].f32[n] += emu_float(emu.row[a][m].half[2 * k + h]) *\n"
    "                                            emu_float(emu.row[b][k].half[2 * n + h]);\n}\n"
    "FAST static void emu_dot_bytes(int c, int a, int b)\n{\n"
    "    if (emu_bytes(a) / 4 != emu_rows(b) || emu_rows(a) != emu_rows(c) ||\n"
    "        emu_bytes(b) != emu_bytes(c) || emu_rows(c) == 0) __builtin_trap();\n"
    "    for (int m = 0; m < emu_rows(c); m++)\n"
    "        for (int k = 0; k < emu_bytes(a) / 4; k++)\n"
    "            for (int n = 0; n < emu_bytes(c) / 4; n++)\n"
    "                for (int h = 0; h < 4; h++)\n"
    "                    emu.row[c][m].i32[n] += emu.row[a][m].i8[4 * k + h] *\n"
    "                                            emu.row[b][k].i8[4 * n + h];\n}\n"
    "#define KC_CONFIG(x) emu_config(x)\n"
    "#define KC_RELEASE() __builtin_memset(emu.config, 0, 64)\n"
    "#define KC_ZERO(t) __builtin_memset(emu.row[t], 0, sizeof emu.row[t])\n"
    "#define KC_LOAD(t, x, s) emu_load(t, x, s)\n"
    "#define KC_STORE(t, x, s) emu_store(t, x, s)\n"
    "#define KC_STREAM(to, from) __builtin_memcpy(to, from, 64)\n"
    "#define KC_DOT(c, a, b) emu_dot(c, a, b)\n"
    "#define KC_DOT_BYTES(c, a, b) emu_dot_bytes(c, a, b)\n";

/* Emulated: with these instructions, for the machine's lowest target. Returns the code, caller frees. */
static inline uint8_t *amx_compile(const codegen_t *gen, bool emulated, size_t *n, err_t *err)
{
    if (!emulated) return codegen_compile(gen, n, err);
    str_t text = {0};
    str_add(&text, amx_emulation);
    codegen_print(gen, &text);
    const char *unit = str_text(&text);
    /* With -O3 the compiler takes seven times as long, most of a test's time. */
    uint8_t *bytes = compiler_run(NULL, 1, &unit, "-O1", n, err);
    str_fini(&text);
    return bytes;
}

#endif
