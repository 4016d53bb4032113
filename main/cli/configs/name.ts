import type { Command } from 'commander';
import { exitCodes, fail } from '../failure.ts';

/** Completion recognises configs by this argument name. */
export const takesConfig = (command: Command): Command =>
  command.argument('<config-name>', 'name of the config');

/** Ends the command when the name cannot be part of a URL. */
export function configName(word = ''): string {
  if (word !== '' && word !== '.' && word !== '..') return word;
  return fail(exitCodes.usage, 'CONFIG-NAME: give the name of a config, such as NAME for NAME.json');
}
