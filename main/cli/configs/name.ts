import type { Command } from 'commander';
import { exitCodes, fail } from '../failure.ts';

/** Completion knows configs by arguments of this name. */
export const takesConfig = (command: Command): Command =>
  command.argument('<config-name>', 'its name, as jobs are submitted by it');

/** Ends the command where no address could hold it. */
export function configName(word = ''): string {
  if (word !== '' && word !== '.' && word !== '..') return word;
  return fail(exitCodes.usage, 'CONFIG-NAME: the name of a config is needed, as NAME of NAME.json');
}
