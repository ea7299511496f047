# The targets as compiler/kernels/targets.def has them, for scripts to source with $root, the repository.

# lines of `name|machine|flags|rows panels few one codes|compiler|runner|vectors|dot`, of those with operations of their own
target_rows=$(
        awk_of='function bare(s) { gsub(/^[ "]+|[ "]+$/, "", s); return s }
                $1 == "machine" { compiler[bare($2)] = bare($3); runner[bare($2)] = bare($4) }
                $1 == "target" && $3 != " each " {
                        m = bare($3); print bare($2) "|" m "|" bare($5) "|" bare($6) "|" compiler[m] "|" runner[m] "|" bare($4) "|" bare($7) }'
        printf '%s\n' '#define MACHINE(name, condition, compiler, runner, ...) machine|name|compiler|runner' \
                '#define TARGET(name, machine, vectors, dot, flags, guard, rows, panels, few, one, codes, ...) target| name | machine | vectors | flags | rows panels few one codes | dot' \
                "#include \"$root/compiler/kernels/targets.def\"" | ${CC:-cc} -x c -E -P - | awk -F '|' "$awk_of"
)

# field NAME NUMBER: of a target's row
target_field() { echo "$target_rows" | awk -F '|' -v name="$1" -v field="$2" '$1 == name { print $field }'; }

# all but WebAssembly, which wants a program around it (tests/page); and those whose code differs without weights in blocks too
target_names() { echo "$target_rows" | awk -F '|' '$2 != "wasm32" { print $1 }'; }
target_names_of_vectors() { echo "$target_rows" | awk -F '|' '$1 == $7 && $2 != "wasm32" { print $1 }'; }
target_flags() { target_field "$1" 3; }

# TILE_ROWS and the like, as options of the compiler; TARGET_NAME is for tiles.def
target_tile() {
        # shellcheck disable=SC2046
        set -- $(target_field "$1" 4) "$1"
        echo "-DTILE_ROWS=$1 -DTILE_PANELS=$2 -DFEW_PANELS=$3 -DONE_PANELS=$4 -DCODE_ROWS=$5 -DTARGET_NAME=$6$([ "$6" != amx ] || echo ' -DHAS_AMX=1')"
}

# of a target of another machine: its compiler and emulator; of one of this machine or of any: nothing
target_is_foreign() { case $(target_field "$1" 2) in any | "$(uname -m)") return 1 ;; esac; }
target_compiler() { if target_is_foreign "$1"; then target_field "$1" 5; fi; }
target_runner() { if target_is_foreign "$1"; then target_field "$1" 6; fi; }

# whether what is compiled for it runs here, with the emulator if need be
target_runs() {
        if target_is_foreign "$1"; then
                command -v "$(target_compiler "$1")" >/dev/null 2>&1 && command -v "$(target_runner "$1")" >/dev/null 2>&1
                return
        fi
        "$root/build/lathe" targets | grep -q "^$1 *\\(native\\|runs here\\)"
}

# target_options NAME...: the options for those that run here
target_options() { for option; do if target_runs "$option"; then echo "--target $option"; fi; done; }

# WebAssembly: its compiler; node, where old ones want to be told of relaxed-simd and of WASI; and that with what runs a WASI program
wasm_compiler=clang-16
wasm_node() {
        options=--no-warnings
        for option in --experimental-wasm-relaxed-simd --experimental-wasi-unstable-preview1; do
                if node $option -e 0 >/dev/null 2>&1; then options="$options $option"; fi
        done
        echo "node $options"
}
wasm_runner() { echo "$(wasm_node) $root/tests/page/wasi.mjs"; }

# what is missing to compile and run it, with Debian's packages; nothing: all is there
wasm_lacks() {
        if ! echo '#include <stdlib.h>
int main(void) { return 0; }' | $wasm_compiler --target=wasm32-wasi -x c -o /dev/null - 2>/dev/null; then
                echo 'no clang for WebAssembly (clang-16, lld-16, libclang-rt-16-dev-wasm32, wasi-libc)'
        elif ! command -v node >/dev/null 2>&1; then
                echo 'no node (nodejs)'
        fi
}

# whether node takes a compiled file: one of relaxed-simd is refused by old ones
wasm_is_taken() { $(wasm_node) -e 'process.exit(WebAssembly.validate(require("fs").readFileSync(process.argv[1])) ? 0 : 1)' "$1"; }
