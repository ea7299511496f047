# For the tests of examples/: commands BLOCK prints the lines of the block ```sh BLOCK of examples/README.md; it fails where there is none.
commands() {
        awk -v head="\`\`\`sh $1" '$0 == head { within = found = 1; next } /^```/ { within = 0 } within; END { exit !found }' "$root/examples/README.md" ||
                echo "false # examples/README.md has no block named $1"
}
