/* A file of MLIR bytecode, byte by byte. */
#ifndef TESTS_BYTECODE_BY_HAND_H
#define TESTS_BYTECODE_BY_HAND_H

/* clang-format off */

/* `func.func public @main(%arg0: tensor<2xf32> loc("x")) -> tensor<2xf32>` that returns its
 * argument, in version 1 of the container. A varint v of less than 128 is the byte 2 v + 1. */
static const unsigned char by_hand[] = {
    'M', 'L', 0xEF, 'R', 0x03, /* version 1 */
    'S', 't', 'a', 'b', 'l', 'e', 'H', 'L', 'O', '_', 'v', '0', '.', '9', '.', '0', 0,
    /* dialects, 10 bytes: builtin and vhlo (strings 0 and 1, without versions), and names of ops:
     * of dialect 0 string 2, of dialect 1 strings 3 and 4 */
    0x01, 0x15, 0x05, 0x01, 0x05, 0x01, 0x03, 0x05, 0x03, 0x05, 0x07, 0x09,
    /* offsets, 19 bytes: 8 attributes and 3 types; sizes with the flag of their own codes */
    0x03, 0x27, 0x11, 0x07,
    0x01, 0x0D, 0x07, 0x0B, 0x0B, 0x0B, 0x0F, 0x1B, /* of builtin 6: 1, 2, 2, 2, 3 and 6 bytes */
    0x03, 0x05, 0x0B, 0x0B,                         /* of vhlo 2: 2 and 2 bytes */
    0x03, 0x07, 0x07, 0x13, 0x17,                   /* types of vhlo: 1, 4 and 5 bytes */
    /* attributes and types, 30 bytes */
    0x02, 0x3D, 0x1F,                   /* 0: loc(unknown) */
    0x05, 0x0B, 0x05, 0x0D, 0x05, 0x11, /* 1 to 3: strings 5, 6 and 8 */
    0x1D, 0x07, 0x01,                   /* 4: loc(attribute 3 (attribute 0)) */
    0x03, 0x05, 0x03, 0x0D, 0x05, 0x0F, /* 5: {1 = 6, 2 = 7} */
    0x1D, 0x0F,                         /* 6: VHLO's string 7 */
    0x23, 0x05,                         /* 7: type 2 */
    0x09,                               /* type 0: f32 */
    0x29, 0x03, 0x09, 0x01,             /* type 1: tensor<2 x type 0> */
    0x11, 0x03, 0x03, 0x03, 0x03,       /* type 2: (type 1) -> type 1 */
    /* ops, 24 bytes: one op, no arguments; op 0 with a region, at place 0 */
    0x04, 0x31, 0x05, 0x01, 0x10, 0x01, 0x07,
    0x03, 0x01, 0x05,                   /* 1 block, no values, 1 op */
    0x03, 0x11, 0x01, 0x0B, 0x07,       /* op 1 with attributes 5 and a region */
    0x03, 0x03, 0x07, 0x03, 0x03, 0x09, /* 1 block, 1 value, 1 op, an argument of type 1 at 4 */
    0x05, 0x04, 0x01, 0x03, 0x01,       /* op 2 on value 0 */
    /* strings, 78 bytes: 9, their sizes from the last, and they */
    0x00, 0x9D, 0x13, 0x05, 0x0B, 0x1D, 0x13, 0x15, 0x11, 0x0F, 0x0B, 0x11,
    'b', 'u', 'i', 'l', 't', 'i', 'n', 0, 'v', 'h', 'l', 'o', 0, 'm', 'o', 'd', 'u', 'l', 'e', 0,
    'f', 'u', 'n', 'c', '_', 'v', '1', 0, 'r', 'e', 't', 'u', 'r', 'n', '_', 'v', '1', 0,
    's', 'y', 'm', '_', 'n', 'a', 'm', 'e', 0,
    'f', 'u', 'n', 'c', 't', 'i', 'o', 'n', '_', 't', 'y', 'p', 'e', 0,
    'm', 'a', 'i', 'n', 0, 'x', 0,
};

/* Where a code stands: of attribute 6 and of type 1. */
enum { BY_HAND_ATTR = 22 + 12 + 21 + 18, BY_HAND_TYPE = BY_HAND_ATTR + 5 };

/* clang-format on */

#endif
