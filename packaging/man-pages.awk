# The manual's pages besides lathe(1), out of what there is: docs/lathe.1 has what each command does and its options, docs/language.md the
# language.
# Called by man-pages; commands is "NAME: ABOUT|…", and FOLDER/NAME.help what `lathe help NAME` says.
# Writes FOLDER/lathe-NAME.1 for each command, and FOLDER/lathe-language.7.

function head(file, name, section, about) {
        printf ".TH LATHE\\-%s %d \"\" \"lathe\" \"lathe\"\n.SH NAME\nlathe\\-%s \\- %s\n", toupper(name), section, name, plain(about) >file
}
function tail(file) {
        printf ".SH SEE ALSO\n.BR lathe (1),\n.BR lathe\\-language (7)\n" >file
}
# A text that troff sets as it stands.
function plain(text) {
        gsub(/\\/, "\\e", text)
        gsub(/-/, "\\-", text)
        sub(/^[.']/, "\\\\\\&&", text)
        return text
}
BEGIN {
        count = split(commands, command, "|")
        for (i = 1; i <= count; i++) {
                at = index(command[i], ": ")
                about[substr(command[i], 1, at - 1)] = substr(command[i], at + 2)
                command[i] = substr(command[i], 1, at - 1)
        }
}

# --- docs/lathe.1: the text of each command, and of each option ---

FILENAME ~ /lathe\.1$/ && /^\.SH/ { part = $0 }
FILENAME ~ /lathe\.1$/ && part == ".SH COMMANDS" && /^\.SS/ {
        name = $0
        sub(/^\.SS "lathe /, "", name)
        sub(/[^a-z].*/, "", name)
        form = 1
}
FILENAME ~ /lathe\.1$/ && part == ".SH COMMANDS" && name != "" {
        line = $0
        if (line ~ /^\.SS/ || continued) {
                sub(/^\.SS "/, ".PP\n", line)
                continued = line ~ /\\$/
                sub(/"$/, "", line)
                synopsis[name] = synopsis[name] line "\n"
        } else
                said[name] = said[name] line "\n"
}
FILENAME ~ /lathe\.1$/ && part == ".SH OPTIONS" && tagged {
        option = $0
        gsub(/\\-/, "-", option)
        gsub(/[",=]|\\f[A-Z]/, " ", option)
        split(option, word, " ")
        option = word[2] # behind the macro
        entry[option] = $0 "\n"
        tagged = 0
        next
}
FILENAME ~ /lathe\.1$/ && part == ".SH OPTIONS" { tagged = /^\.TP/ }
FILENAME ~ /lathe\.1$/ && part == ".SH OPTIONS" && !tagged && option != "" { entry[option] = entry[option] $0 "\n" }
FILENAME ~ /lathe\.1$/ { next }

# --- the help of each command: its options, those of build with the longer entries of lathe.1, and its examples ---

FILENAME ~ /\.help$/ && FNR == 1 {
        name = FILENAME
        sub(/.*\//, "", name)
        sub(/\.help$/, "", name)
}
FILENAME ~ /\.help$/ && /^ *example: / {
        line = $0
        sub(/^ *example: /, "", line)
        examples[name] = examples[name] ".PP\n.nf\n" plain(line) "\n.fi\n"
        next
}
FILENAME ~ /\.help$/ && /^ ? ? ? ?[-A-Z]/ && /^ / {
        line = $0
        sub(/^ */, "", line)
        at = match(line, /  +/)
        tag = at ? substr(line, 1, at - 1) : line
        rest = at ? substr(line, at + RLENGTH) : ""
        # options with a single space before their text
        if (!at && match(line, /^--?[-a-z]+ /)) {
                tag = substr(line, 1, RLENGTH - 1)
                rest = substr(line, RLENGTH + 1)
        }
        split(tag, word, /[ =[]/)
        longer = name == "build" && tag !~ /, -/ && (word[1] in entry)
        list[name] = list[name] ".TP\n" (longer ? entry[word[1]] : "\\fB" plain(tag) "\\fP\n" (rest == "" ? "" : plain(rest) "\n"))
        next
}
FILENAME ~ /\.help$/ && /^      / {
        if (longer)
                next
        line = $0
        sub(/^ */, "", line)
        list[name] = list[name] plain(line) "\n"
        next
}
FILENAME ~ /\.help$/ && /^Of .*:$/ && list[name] != "" { list[name] = list[name] ".SS " plain($0) "\n" }
FILENAME ~ /\.help$/ { next }

# --- docs/language.md ---

FNR == 1 {
        page = to "/lathe-language.7"
        head(page, "language", 7, "the language of model files")
        print ".SH DESCRIPTION" >page
        next
}
/^```/ {
        fenced = !fenced
        print fenced ? ".PP\n.RS 4\n.nf" : ".fi\n.RE" >page
        next
}
fenced { print plain($0) >page; next }
/^<a id/ { next }
{
        line = $0
        while (match(line, /\[[^]]*\]\([^)]*\)/)) {
                link = substr(line, RSTART, RLENGTH)
                sub(/^\[/, "", link)
                sub(/\]\([^)]*\)$/, "", link)
                line = substr(line, 1, RSTART - 1) link substr(line, RSTART + RLENGTH)
        }
}
/^## / { print ".SH " toupper(plain(substr(line, 4))) >page; next }
/^###* / { sub(/^#* /, "", line); print ".SS " plain(line) >page; next }
/^\|[-| :]*$/ { next }
/^\|/ {
        sub(/^\| */, "", line)
        sub(/ *\|$/, "", line)
        at = index(line, " | ")
        printf ".TP\n%s\n%s\n", code(substr(line, 1, at - 1)), code(substr(line, at + 3)) >page
        table = 1
        next
}
/^$/ { print ".PP" >page; table = 0; next }
/^- / { print ".IP \\(bu 2\n" code(substr(line, 3)) >page; next }
{ print code(line) >page }

# `code` in bold, and the rest of a line
function code(text,  out, n, i, part) {
        n = split(text, part, "`")
        out = ""
        for (i = 1; i <= n; i++)
                out = out (i % 2 ? plain(part[i]) : "\\fB" plain(part[i]) "\\fP")
        gsub(/\*\*/, "", out)
        sub(/^ */, "", out)
        return out == "" ? "\\&" : out
}

END {
        if (page)
                tail(page)
        for (i = 1; i <= count; i++) {
                name = command[i]
                file = to "/lathe-" name ".1"
                head(file, name, 1, about[name])
                printf ".SH SYNOPSIS\n%s.SH DESCRIPTION\n%s", synopsis[name], said[name] >file
                if (list[name] != "")
                        printf ".SH OPTIONS\n%s", list[name] >file
                if (examples[name] != "")
                        printf ".SH EXAMPLES\n%s", examples[name] >file
                tail(file)
                close(file)
        }
}
