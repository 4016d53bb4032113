import type { Command } from 'commander';

/** Adds examples at the end of the help of a command. */
export const withExamples = (command: Command, examples: readonly string[]): Command =>
  examples.length === 0
    ? command
    : command.addHelpText('after', `\nExamples:\n${examples.map(each => `  $ ${each}`).join('\n')}`);
