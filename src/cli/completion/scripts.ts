/**
 * What a shell runs when a word of a volley command line is to be completed. All of them ask volley itself, which
 * answers a line for each word: the word, a tab, what it is. No answer means a file.
 */
const BASH = `# Completion of volley in bash: source <(volley completion bash)
_volley() {
  local word about current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS=$'\\t' read -r word about; do
    # Compared and quoted here: what is in a name is never run.
    if [[ "$word" == "$current"* ]]; then COMPREPLY+=("$(printf '%q' "$word")"); fi
  done < <(volley completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _volley volley
`;

const ZSH = `#compdef volley
# Completion of volley in zsh: source <(volley completion zsh)
_volley() {
  local line
  local -a found
  for line in "\${(@f)$(volley completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe volley found; else _files; fi
}
compdef _volley volley
`;

const FISH = `# Completion of volley in fish: volley completion fish > ~/.config/fish/completions/volley.fish
function __volley_words
  set -l typed (commandline -opc) (commandline -ct)
  volley completion words -- $typed[2..-1] 2>/dev/null
end
complete -c volley -a '(__volley_words)'
`;

export const COMPLETION_SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
