# What the scripts here share; to be sourced with the driver as $1.  Leaves $driver, $here, $root, $models, $runner, and the folder $work, where they
# are and which goes at the end; without what compiles for WebAssembly it ends them.
driver=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/tests/targets.sh"
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 3
failed=0
models=$root/models

# verdict NAME STATUS [FILE]: one line, and what was said if it failed
verdict() {
        if [ "$2" -eq 0 ]; then
                echo "ok page $1"
        else
                echo "FAIL page $1"
                [ -z "${3:-}" ] || sed 's/^/     /' "$3"
                failed=1
        fi
}

lacks=$(wasm_lacks)
if [ -n "$lacks" ]; then
        echo "skip page: $lacks"
        exit 0
fi
runner=$(wasm_runner)

# engine MODEL HASH ASKED [PICTURE|SOUND]: what the page's engine gives under node, also where the processor's multiply-add rounds twice
engine() {
        node=$(wasm_node)
        # shellcheck disable=SC2086
        for flag in '' --no-enable-fma3; do
                $node $flag "$here/page.mjs" "$1.html" "$3" ${4:+"$4"} >found 2>&1
                grep -q "\"hash\":\"$2\"" found
                verdict "$1 under node${flag:+, exact}" $? found
                [ -z "$flag" ] || { grep -q '"variant":"exact"' found; verdict "$1 takes the exact module by itself" $? found; }
        done
}
# browse NAME PAGE EXPRESSION EXPECTED: a regular expression of what Chromium shows
has_browser() { command -v chromium >/dev/null 2>&1; }
browse() {
        if ! has_browser; then
                echo "skip page $1: no chromium (chromium)"
                return
        fi
        timeout 70 node "$here/browser.mjs" "$2" "$3" >found 2>&1
        grep -Eq "$4" found
        verdict "$1" $? found
}
# what a page says, and what its button begins
state='return $("state").textContent + " " + document.documentElement.dataset.variant;'
go='$("go").click(); await until("busy"); await until("ready|fault");'
