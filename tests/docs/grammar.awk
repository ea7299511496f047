# The rules of grammar/lathe.y as BNF: tokens as they are written; without actions and comments, and without what is there
# for error recovery and for a REPL alone.
#   usage: awk -f grammar.awk grammar/lathe.y
function shown(text,    word, count, i, out) {
        count = split(text, word, " ")
        for (i = 1; i <= count; i++)
                out = out (i > 1 ? " " : "") (word[i] in token ? "'" token[word[i]] "'" : word[i])
        return count ? out : "(nothing)"
}
function flush_rule(    i, line) {
        for (i = 0; name != "start" && name != "lines" && name != "line" && i < n; i++) {
                if (i && length(line) + length(alternative[i]) + 3 < 120) {
                        line = line " | " alternative[i]
                        continue
                }
                if (i) print line
                line = sprintf("%-17s %s ", i ? "" : name, i ? "  |" : "::=") alternative[i]
        }
        if (line != "") print line
        name = ""
        n = 0
}
/^%token/ {
        for (i = 2; i < NF; i++)
                if ($(i + 1) ~ /^"/ && $i !~ /^(NAME|STRING|NUMBER|NL|END|FILE_START|LINES_START)$/) {
                        token[$i] = $(i + 1)
                        gsub(/"/, "", token[$i])
                }
}
/^%%/ { part++; next }
part != 1 { next }
{
        gsub(/\/\*[^*]*\*\//, "")
        while (match($0, /\{[^{}']*\}/) && substr($0, RSTART - 1, 1) != "'")
                $0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
        gsub(/^[ \t]+|[ \t]+$/, "")
        gsub(/[ \t]+/, " ")
}
/^\/\*|^$/ { next }
$0 == ";" { flush_rule(); next }
{
        closing = sub(/ ;$/, "")
        if (name == "") {
                name = $0
                sub(/ ?:.*/, "", name)
                if (!sub(/^[a-z_]+ ?: ?/, "") || $0 == "") next
        } else if (n == 0) sub(/^: ?/, "")
        sub(/^\| ?/, "")
        count = split($0, part_of, / \| /)
        for (k = 1; k <= count; k++)
                if (part_of[k] != "error") alternative[n++] = shown(part_of[k] == "%empty" ? "" : part_of[k])
        if (closing) flush_rule()
}
