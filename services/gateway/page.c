/* The files of services/gateway/page, put into the program by the assembler. */
#include "gateway/page.h"

#include <string.h>

#define PAGES(X)                                                          \
    X(index, "index.html", "/", "text/html; charset=utf-8")               \
    X(chat, "chat.js", "/page/chat.js", "text/javascript; charset=utf-8") \
    X(style, "style.css", "/page/style.css", "text/css; charset=utf-8")

#define BYTES(name, file, path, type)                                           \
    __asm__(".pushsection .rodata\n"                                            \
            "chat_page_" #name ": .incbin \"services/gateway/page/" file "\"\n" \
            "chat_page_end_" #name ": .byte 0\n"                                \
            ".popsection\n");                                                   \
    extern const char chat_page_##name[],                                       \
        chat_page_end_##name[] __attribute__((visibility("hidden")));
PAGES(BYTES)

#define ROW(name, file, path, type) {path, type, chat_page_##name, chat_page_end_##name},
static const page_file_t files[] = {PAGES(ROW)};

const page_file_t *page_find(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].path, path) == 0) return &files[i];
    return NULL;
}
