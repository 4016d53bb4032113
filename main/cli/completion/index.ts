import { Argument, Command } from 'commander';
import type { Invocation } from '../invocation.ts';

/** The scripts ask the program for candidates (`complete.ts`), so they support commands of later versions too. */
const scripts: Readonly<Record<string, string>> = {
  bash: `# Completion of trainyard for bash. In ~/.bashrc: source <(trainyard completion bash)
_trainyard() {
  local line current="\${COMP_WORDS[COMP_CWORD]}"
  [[ $current == '=' ]] && current=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :file) compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current") ;;
      :folder) compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current") ;;
      :*) ;;
      *) printf -v line %q "\${line%%$'\\t'*}"; COMPREPLY+=("$line") ;;
    esac
  done < <("$1" __complete bash "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _trainyard trainyard
`,
  zsh: `#compdef trainyard
# Completion of trainyard for zsh. In ~/.zshrc, after compinit: source <(trainyard completion zsh)
_trainyard() {
  local line own
  local -a found
  while IFS= read -r line; do
    case $line in
      :*) own=\${line#:} ;;
      *) found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done < <("\${words[1]}" __complete zsh "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#found )) && _describe trainyard found
  case $own in
    file) _files ;;
    folder) _files -/ ;;
  esac
}
if [[ $funcstack[1] == _trainyard ]]; then _trainyard "$@"; else compdef _trainyard trainyard; fi
`,
  fish: `# Completion of trainyard for fish. In ~/.config/fish/config.fish: trainyard completion fish | source
function __trainyard_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program __complete fish $words "$current" 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path "$current"
            case :folder
                __fish_complete_directories "$current"
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c trainyard -f -a '(__trainyard_complete)'
`,
};

export function completionCommand({ terminal }: Invocation): Command {
  return new Command('completion')
    .description('Print a shell completion script')
    .addArgument(new Argument('<shell>', 'shell to complete in').choices(Object.keys(scripts)))
    .addHelpText(
      'after',
      '\nIn ~/.bashrc:                   source <(trainyard completion bash)' +
        '\nIn ~/.zshrc, after compinit:    source <(trainyard completion zsh)' +
        '\nIn ~/.config/fish/config.fish:  trainyard completion fish | source',
    )
    .action((shell: string) => terminal.out(scripts[shell] ?? ''));
}
