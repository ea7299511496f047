# Compares the blocks ```LANGUAGE examples/FILE of a Markdown file with the files that they quote.
#   usage: awk -f quotes.awk FILE.md, in the root of the repository
# Prints a line for each: 0 if the block is consecutive lines of the file, else 1; a name with the block's line.
/^```[a-z]+ examples\/[^ ]+$/ {
        file = $2
        start = FNR
        quote = "\n"
        next
}
/^```/ && file {
        text = "\n"
        while ((getline line <file) > 0)
                text = text line "\n"
        close(file)
        sub(/.*\//, "", FILENAME)
        print (length(quote) > 1 && index(text, quote) ? 0 : 1), FILENAME " line " start " quotes " file
        file = ""
}
file { quote = quote $0 "\n" }
