# What the scripts here share; to be sourced with $driver set.  Leaves $root, $data, $models, and the folder $work, which goes
# at the end.  $models: those that can be built here, of
#   tale           in the repository
#   stories260k    with LATHE_DATA, ../shared/data beside the repository unless set
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
data=${LATHE_DATA:-$root/../shared/data}/stories260k
if [ -z "${work:-}" ]; then
        work=$(mktemp -d) || exit 3
        trap 'rm -rf "$work"' EXIT
fi
failed=0
arm=aarch64-linux-gnu
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
models=tale
[ -f "$data/stories260K.bin" ] && models="tale stories260k"

have() { command -v "$1" >/dev/null 2>&1; }
# has_headers COMPILER: it is there, and so is its C library, which Debian has in a package of its own
has_headers() { have "$1" && printf '#include <stdint.h>\n' | "$1" -E - >/dev/null 2>&1; }

# verdict NAME STATUS [LOG]: one line, and what was said if it failed
verdict() {
        if [ "$2" -eq 0 ]; then
                echo "ok emitted $1"
        else
                echo "FAIL emitted $1"
                [ -z "${3:-}" ] || sed 's/^/     /' "$3"
                failed=1
        fi
}

# emit MODEL OUT.c [OPTIONS]: the trained model as a program
emit() {
        emitted=$1 out=$2
        shift 2
        case $emitted in
        tale) "$driver" build "$root/models/tale.model" --weights "$root/models/tale/tale.safetensors" \
                --tokenizer "$root/models/tale/tokenizer.bin" --main -o "$out" "$@" ;;
        stories260k) "$driver" build "$root/models/stories260k.model" --weights "$data/stories260K.bin" \
                --tokenizer "$data/tok512.bin" --main -o "$out" "$@" ;;
        esac
}

# what a trained model says when it takes the likeliest, and how many positions that takes with the one before it
text_of() { case $1 in tale) echo "$root/tests/golden/tale.txt" ;; *) echo "$data/expected-greedy-200.txt" ;; esac; }
positions_of() { case $1 in tale) echo 240 ;; *) echo 201 ;; esac; }

# the flags that an emitted file asks for in its first lines
flags_of() { sed -n '/Build: cc /{ s/.*-std=c11 -O2 *//; s/[^ ]*\.c .*//p; }; /\*\//q' "$1"; }

# whether programs for a target run here, and by what
. "$root/tests/targets.sh"
runs() { case $1 in portable | *:*) true ;; *) target_runs "$1" ;; esac; }
