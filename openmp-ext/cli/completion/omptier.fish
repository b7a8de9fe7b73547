# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Completion of omptier for fish. What a word may become is asked of omptier itself; a program behind
# its options is completed as fish would complete it.

function __omptier_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct) # as it stands there, with its quotes
    set -l program (string replace -r '^~' "$HOME" -- $words[1])
    type -q -- $program; or set program omptier
    set -l lines ($program complete -- $words[2..-1] (string unescape -- "$typed"; or echo) 2>/dev/null)

    switch "$lines[1]"
        case ':files'
            set -l front (string match -r -- '^--[^=]*=' "$typed")
            for path in (complete -C "'' "(string replace -- "$front" '' "$typed"))
                echo "$front$path"
            end
        case ':program *'
            set -l first (math (string replace ':program ' '' -- $lines[1]) + 1) # fish counts from 1
            if test (count $words) -ge $first
                complete -C (string join ' ' -- (string escape -- $words[$first..-1]) "$typed")
            else
                complete -C "$typed"
            end
        case '*'
            string join \n -- $lines
    end
end

complete -c omptier -f -a '(__omptier_complete)'
