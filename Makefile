# The only build file. Programs land in build/bin (release) or build/MODE/bin (debug asan ubsan tsan).
#   make            the programs          make test     scripts/test
#   make check      layers, format, sanitizer builds    make clean
#   make install    programs, pages for man, systemd units, documents: DESTDIR, prefix [/usr/local]
MODE ?= release
VERSION := $(shell cat VERSION)
comma := ,
MAKEFLAGS += --no-builtin-rules

B := $(if $(filter release,$(MODE)),build,build/$(MODE))
OBJ := build/obj/$(MODE)

PKGS := libczmq libzmq libprotobuf-c openblas jansson libsodium libxxhash libpq sqlite3 hiredis libmicrohttpd libcurl libpcre2-8 libutf8proc ncursesw zlib libzstd yaml-0.1
ifneq ($(shell pkg-config --exists $(PKGS) && echo ok),ok)
ifneq ($(MAKECMDGOALS),clean)
$(error some of "$(PKGS)" are missing: run scripts/setup)
endif
endif
# protoc-c is told below to write into build/gen.
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS))
PKG_LIBS := $(shell pkg-config --libs $(PKGS))

CC ?= gcc
# What makes a mistake in C hard to use: checked copies, a stack that cannot jump its guard page, checked jumps,
# addresses that nobody knows, and tables of functions that nobody can write (tests/cluster/hardened.sh).
TARGET := $(shell $(CC) -dumpmachine)
HARDEN := -D_FORTIFY_SOURCE=2 -fstack-clash-protection $(if $(filter x86_64%,$(TARGET)),-fcf-protection)
FLAGS_release := -O2 -g $(HARDEN)
FLAGS_debug := -O0 -g
# Both sanitizers that can live in one program; ubsan alone is there for what asan is too slow or too large for.
FLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FLAGS_ubsan := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
FLAGS_tsan := -O1 -g -fsanitize=thread
FLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
# One set of objects for programs and for libpcp.so: -fPIC costs them nothing where calls within a file stay direct.
PIC := -fPIC -fno-semantic-interposition
CFLAGS := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fno-math-errno $(FLAGS_$(MODE)) $(PIC) \
  -fstack-protector-strong -MMD -MP -Iinclude -Ilibshared -Iservices -Ibuild/gen $(PKG_CFLAGS)
# as-needed: programs load no library they do not call; OpenBLAS is loaded by runtime/blas.c.
LDFLAGS := $(FLAGS_$(MODE)) -rdynamic -Wl,--as-needed $(if $(filter release,$(MODE)),-pie -Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now)
LDLIBS := $(PKG_LIBS) -ldl -lpthread -lm
# There are hundreds of test programs: the linker that takes a third of the time, where binutils brings it.
LD_TESTS := $(if $(shell command -v ld.gold),-fuse-ld=gold)

PROTO := $(wildcard proto/*.proto)
GEN_C := $(PROTO:proto/%.proto=build/gen/proto/%.pb-c.c)
GEN_H := $(GEN_C:.c=.h)
LIB_C := $(wildcard libshared/*/*.c libshared/*/*/*.c)
LIB_O := $(LIB_C:%.c=$(OBJ)/%.o) $(GEN_C:build/gen/%.c=$(OBJ)/gen/%.o)
LIB := $(OBJ)/libpcp.a

# libpcp, for programs of others: what libshared/api/libpcp.map names, and of the rest what that needs. Programs of
# this tree link LIB itself.
API_PKGS := libprotobuf-c jansson libsodium libxxhash libpcre2-8 libutf8proc zlib
API_O := $(patsubst %.c,$(OBJ)/%.o,$(wildcard libshared/api/*.c))
API_MAP := libshared/api/libpcp.map
SONAME := libpcp.so.$(firstword $(subst ., ,$(VERSION)))
PUBLIC := $(B)/lib/$(SONAME) $(B)/lib/libpcp.so $(B)/lib/libpcp.a
EXAMPLES := $(patsubst examples/%.c,$(B)/examples/%,$(wildcard examples/*.c))

SERVICES := $(notdir $(patsubst %/,%,$(dir $(wildcard services/*/main.c))))
prog = $(if $(filter pcp,$(1)),pcp,pcp-$(1))
PROGRAMS := $(foreach s,$(SERVICES),$(B)/bin/$(call prog,$(s)))
TOOLS := $(patsubst tests/tools/%.c,$(B)/bin/%,$(wildcard tests/tools/*.c))
BENCHES := $(patsubst tests/bench/%.c,$(B)/bin/bench-%,$(wildcard tests/bench/*.c))
TESTS := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/*_test.c))

.PHONY: all programs library man install install-library tests test check clean
all: $(PROGRAMS) $(TOOLS) $(BENCHES) library
programs: $(PROGRAMS)
library: $(PUBLIC)
tests: all $(TESTS) $(EXAMPLES)
test:
	scripts/test
check:
	scripts/check
clean:
	rm -rf build

# Pages for man come from the programs' own tables of flags.
man: programs
	@mkdir -p $(B)/man
	@$(B)/bin/pcp --help-man >$(B)/man/pcp.1
	@for c in $$($(B)/bin/pcp --commands); do $(B)/bin/pcp $$c --help-man >$(B)/man/pcp-$$c.1; done
	@for p in $(filter-out pcp,$(notdir $(PROGRAMS))); do $(B)/bin/$$p --help-man >$(B)/man/$$p.8; done

prefix ?= /usr/local
libdir ?= $(prefix)/lib
unitdir ?= $(prefix)/lib/systemd/system
install: programs man install-library
	install -d $(addprefix $(DESTDIR),$(prefix)/bin $(prefix)/share/man/man1 $(prefix)/share/man/man8 $(prefix)/share/doc/pcp/measurements $(unitdir) $(prefix)/lib/sysusers.d)
	install $(PROGRAMS) $(DESTDIR)$(prefix)/bin
	install -m 644 $(B)/man/*.1 $(DESTDIR)$(prefix)/share/man/man1
	install -m 644 $(B)/man/*.8 $(DESTDIR)$(prefix)/share/man/man8
	install -m 644 README.md LICENSE CHANGELOG.md docs/*.md $(DESTDIR)$(prefix)/share/doc/pcp
	install -m 644 docs/measurements/*.md $(DESTDIR)$(prefix)/share/doc/pcp/measurements
	for u in deploy/systemd/*.service; do \
	    sed 's#/usr/bin/#$(prefix)/bin/#' $$u >$(DESTDIR)$(unitdir)/$${u##*/} && chmod 644 $(DESTDIR)$(unitdir)/$${u##*/}; done
	install -m 644 deploy/systemd/pcp.sysusers $(DESTDIR)$(prefix)/lib/sysusers.d/pcp.conf

install-library: library
	install -d $(addprefix $(DESTDIR),$(prefix)/include/pcp $(libdir)/pkgconfig)
	install -m 644 include/pcp/*.h $(DESTDIR)$(prefix)/include/pcp
	install -m 644 $(B)/lib/libpcp.so.$(VERSION) $(B)/lib/libpcp.a $(DESTDIR)$(libdir)
	ln -sf libpcp.so.$(VERSION) $(DESTDIR)$(libdir)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(libdir)/libpcp.so
	sed -e 's#@prefix@#$(prefix)#; s#@libdir@#$(libdir)#; s#@version@#$(VERSION)#; s#@packages@#$(API_PKGS)#' libshared/api/pcp.pc.in \
	    >$(DESTDIR)$(libdir)/pkgconfig/pcp.pc && chmod 644 $(DESTDIR)$(libdir)/pkgconfig/pcp.pc

# One program per service folder; each links its own objects, those of subfolders too, and the library.
service_o = $(patsubst %.c,$(OBJ)/%.o,$(wildcard services/$(1)/*.c services/$(1)/*/*.c))
define service_rule
$(B)/bin/$(call prog,$(1)): $(call service_o,$(1)) $(LIB)
	@mkdir -p $$(@D)
	$(CC) $(LDFLAGS) -o $$@ $$^ $(LDLIBS)
endef
$(foreach s,$(SERVICES),$(eval $(call service_rule,$(s))))

# A tool may have parts: tests/tools/golden/*.c belong to golden-check, the unit tests' writer to write-bytecode.
TOOL_PARTS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/tools/golden/*.c))
$(B)/bin/golden-check: $(TOOL_PARTS)
$(B)/bin/write-bytecode: $(OBJ)/tests/unit/bytecode_put.o $(OBJ)/tests/unit/bytecode_write.o
$(TOOLS): $(B)/bin/%: $(OBJ)/tests/tools/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LDLIBS)
# bench-peers and bench-reference have parts of their own.
BENCH_PARTS := $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/bench/peers/*.c))
$(B)/bin/bench-peers $(B)/bin/bench-reference: $(BENCH_PARTS)
$(BENCHES): $(B)/bin/bench-%: $(OBJ)/tests/bench/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LDLIBS)
# The library and the fuzz targets through the compiler's checks alone: scripts/check with clang.
SYNTAX := $(addprefix syntax/,$(LIB_C) $(wildcard tests/fuzz/*.c))
.PHONY: syntax $(SYNTAX)
syntax: $(SYNTAX)
$(SYNTAX): syntax/%: $(GEN_H) build/gen/migrations.inc
	@$(CC) $(filter-out -MMD -MP,$(CFLAGS)) -DPCP_VERSION='"$(VERSION)"' -fsyntax-only $*

# Fuzz targets, for MODE=fuzz with clang: scripts/fuzz.
FUZZERS := $(patsubst tests/fuzz/%_fuzz.c,$(B)/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))
$(FUZZERS): $(B)/fuzz/%: $(OBJ)/tests/fuzz/%_fuzz.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)
# A test named after a service (SERVICE_test, SERVICE_part_test) links its handlers (not its main.c).
TEST_HELP_O := $(patsubst %.c,$(OBJ)/%.o,$(filter-out %_test.c,$(wildcard tests/unit/*.c)))
define service_test_rule
$(filter $(B)/tests/$(1)_test $(B)/tests/$(1)_%_test,$(TESTS)): $(filter-out %/main.o,$(call service_o,$(1)))
endef
$(foreach s,$(SERVICES),$(eval $(call service_test_rule,$(s))))
# Both ends of the way down.
$(B)/tests/aggregator_ahead_test $(B)/tests/aggregator_params_test: $(OBJ)/services/worker/ahead.o $(OBJ)/services/worker/params.o
$(TESTS): $(B)/tests/%: $(OBJ)/tests/unit/%.o $(TEST_HELP_O) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(LD_TESTS) -o $@ $(filter %.o,$^) $(LIB) $(LDLIBS) -lcmocka

$(LIB): $(LIB_O)
	@rm -f $@
	ar rcs $@ $^

$(B)/lib/libpcp.so.$(VERSION): $(API_O) $(LIB) $(API_MAP)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$(API_MAP) $(filter-out -rdynamic -pie,$(LDFLAGS)) \
	    $(if $(filter release,$(MODE)),-Wl$(comma)-z$(comma)defs) -o $@ $(API_O) $(LIB) $(LDLIBS)
$(B)/lib/$(SONAME) $(B)/lib/libpcp.so: $(B)/lib/libpcp.so.$(VERSION)
	@ln -sf $(<F) $@
# One object, whose other names are its own: a program may have functions called as ours are.
$(B)/lib/libpcp.a: $(API_O) $(LIB) $(API_MAP)
	@mkdir -p $(@D)
	@sed -n 's/^ *\(pcp_[a-z0-9_]*\);/\1/p' $(API_MAP) >$(@D)/names
	ld -r -o $(@D)/libpcp.o $(API_O) $(LIB)
	objcopy --keep-global-symbols=$(@D)/names $(@D)/libpcp.o
	@rm -f $@
	ar rcs $@ $(@D)/libpcp.o
	@rm $(@D)/libpcp.o $(@D)/names
# As a program outside of this tree would: the public headers and the shared library alone.
$(EXAMPLES): $(B)/examples/%: examples/%.c $(wildcard examples/*.h) $(B)/lib/$(SONAME) $(B)/lib/libpcp.so $(wildcard include/pcp/*.h)
	@mkdir -p $(@D)
	$(CC) -std=c11 -pedantic -Wall -Wextra -Werror $(FLAGS_$(MODE)) -Iinclude -o $@ $< -L$(B)/lib -lpcp -lm '-Wl,-rpath,$$ORIGIN/../lib'

build/gen/proto/%.pb-c.c build/gen/proto/%.pb-c.h &: proto/%.proto
	@mkdir -p build/gen/proto
	protoc-c --proto_path=proto --c_out=build/gen/proto $<
$(OBJ)/libshared/base/version.o: CFLAGS += -DPCP_VERSION='"$(VERSION)"'
$(OBJ)/libshared/base/version.o: VERSION
# Loops that have to become vector code.
$(OBJ)/libshared/outer/kernels.o: CFLAGS += $(if $(filter release,$(MODE)),-O3)
$(OBJ)/gen/%.o: build/gen/%.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -w -c -o $@ $<
# A file of deploy/postgres is a migration. .incbin is no include: -MMD does not see it.
MIGRATIONS := $(sort $(wildcard deploy/postgres/*.sql))
$(OBJ)/libshared/codegen/prelude/prelude.o: $(wildcard libshared/codegen/prelude/*.glsl libshared/codegen/prelude/*.cuh)
$(OBJ)/libshared/store/migrations.o: build/gen/migrations.inc $(MIGRATIONS)
build/gen/migrations.inc: force
	@mkdir -p $(@D)
	@for m in $(basename $(notdir $(MIGRATIONS))); do echo "MIGRATION($${m%%_*}, $$m)"; done >$@.new
	@cmp -s $@.new $@ || cp $@.new $@; rm $@.new
# The same of the page that pcp-metrics serves: its files and the plotting library's.
PAGE := $(sort $(wildcard services/metrics/page/*) third_party/uplot/uPlot.js third_party/uplot/uPlot.css)
$(OBJ)/services/metrics/web/files.o: build/gen/page.inc $(PAGE)
# And of the chat page.
$(OBJ)/services/gateway/page.o: $(wildcard services/gateway/page/*)
build/gen/page.inc: force
	@mkdir -p $(@D)
	@n=0; for f in $(PAGE); do n=$$((n + 1)); echo "PAGE($$n, \"$$f\", \"/page/$${f##*/}\")"; done >$@.new
	@cmp -s $@.new $@ || cp $@.new $@; rm $@.new
$(OBJ)/%.o: %.c $(OBJ)/flags | $(GEN_H)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

# Other flags make other objects: this file changes when they do.
ALL_FLAGS := $(CC) $(CFLAGS) $(LDFLAGS) $(LDLIBS)
.PHONY: force
$(OBJ)/flags: force
	@mkdir -p $(@D)
	@echo '$(ALL_FLAGS)' | cmp -s - $@ || echo '$(ALL_FLAGS)' >$@

.SECONDARY:
-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
