import type { Command } from 'commander';
import type { Flags } from './config.ts';

/** By the names that stand in the help and in config files; what was not given is missing, defaults too. */
export const givenFlags = (command: Command): Flags => {
  const given = command.options.filter(
    option => command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  return Object.fromEntries(
    given.map(option => [
      (option.long ?? '').replace(/^--(no-)?/, ''),
      command.getOptionValue(option.attributeName()) as unknown,
    ]),
  );
};
