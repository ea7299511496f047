# Takes the examples out of a Markdown file.
#   usage: awk -v to=FOLDER -f extract.awk FILE.md
# The fenced block that begins in line L, of four digits, becomes FOLDER/L.KIND, for the kinds below; ```c NAME.c and
# ```lathe NAME.model become FOLDER/NAME.c and FOLDER/NAME.model, for the sessions there; a plain block behind a lathe-error
# is what that must print, L.expected, and FOLDER/L.place holds the line in which it begins.
/^```/ {
        if (kind != "") {
                close(file)
                before = kind == "lathe-error" ? start : 0
                kind = ""
        } else {
                kind = substr($0, 4)
                line = sprintf("%04d", NR)
                file = "/dev/null"
                if (kind == "" && before) {
                        file = to "/" before ".expected"
                        print line > (to "/" before ".place")
                }
                if (kind ~ /^(lathe|lathe-error|lathe-test|lathe-repl|console|bnf)$/) file = to "/" line "." kind
                if (kind ~ /^(c [a-z]+\.c|lathe [a-z]+\.model)$/) file = to "/" substr(kind, index(kind, " ") + 1)
                start = line
                before = 0
                if (kind == "") kind = "plain"
        }
        next
}
kind != "" { print > file }
