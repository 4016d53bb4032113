import { Argument, Command } from 'commander';
import type { Invocation } from '../invocation.ts';
import { scripts } from './scripts.ts';

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
