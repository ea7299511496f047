# The manual's pages besides lathe(1): docs/lathe.1 has the text of each command, its help the options, docs/language.md the language.
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

# --- docs/lathe.1: the text of each command; a further heading of the same command stays ---

FILENAME ~ /lathe\.1$/ && /^\.SH/ { part = $0 }
FILENAME ~ /lathe\.1$/ && part == ".SH COMMANDS" && /^\.SS/ {
        before = name
        name = $0
        sub(/^\.SS "lathe /, "", name)
        sub(/[^a-z].*/, "", name)
        if (name != before)
                next
}
FILENAME ~ /lathe\.1$/ && part == ".SH COMMANDS" && name != "" { said[name] = said[name] $0 "\n" }
FILENAME ~ /lathe\.1$/ { next }

# --- the help of each command, in blocks with blank lines between them: usage, one line, introduction, options; then parts or examples ---

FILENAME ~ /\.help$/ && FNR == 1 {
        name = FILENAME
        sub(/.*\//, "", name)
        sub(/\.help$/, "", name)
        block = 1
        sub(/^usage: lathe [a-z]* ?/, "")
        synopsis[name] = "\\fBlathe " name "\\fP " plain($0) "\n"
        next
}
FILENAME ~ /\.help$/ && /^$/ { block++; begins = 1; next }
FILENAME ~ /\.help$/ && /^example: / {
        sub(/^example: /, "")
        examples[name] = examples[name] ".PP\n.nf\n" plain($0) "\n.fi\n"
        next
}
FILENAME ~ /\.help$/ && /^[A-Z][a-z]*:$/ { list[name] = list[name] ".SS " $0 "\n"; next }
FILENAME ~ /\.help$/ && /^  -/ {
        sub(/^ */, "")
        at = match($0, /  +/)
        list[name] = list[name] ".TP\n\\fB" plain(at ? substr($0, 1, at - 1) : $0) "\\fP\n" (at ? plain(substr($0, at + RLENGTH)) "\n" : "")
        next
}
FILENAME ~ /\.help$/ {
        sub(/^ */, "")
        if (block == 1)
                synopsis[name] = synopsis[name] plain($0) "\n"
        else if (block > 3 || list[name] != "")
                list[name] = list[name] (begins || /^Also: / ? ".PP\n" : "") plain($0) "\n"
        begins = 0
}
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
