# Takes the examples out of a Markdown file.
#   usage: awk -v to=FOLDER -f extract.awk FILE.md
# The fenced block that begins in line L becomes FOLDER/L.KIND, for the kinds below; a plain block behind a lathe-error is
# what that must print, L.expected; FOLDER/L.place holds the line in which it begins.
/^```/ {
        if (kind != "") {
                close(file)
                before = kind == "lathe-error" ? start : 0
                kind = ""
        } else {
                kind = substr($0, 4)
                file = "/dev/null"
                if (kind == "" && before) {
                        file = to "/" before ".expected"
                        print NR > (to "/" before ".place")
                }
                if (kind ~ /^(lathe|lathe-error|lathe-test|console|bnf)$/) file = to "/" NR "." kind
                start = NR
                before = 0
                if (kind == "") kind = "plain"
        }
        next
}
kind != "" { print > file }
