import { type Command, Option } from 'commander';
import { workerOptions } from '../../protocol/worker-options.ts';
import type { Flags } from '../config/index.ts';

/** Returns the flags that the user set, by their names in the help and in config files. */
export const givenFlags = (command: Command): Flags => {
  const fromCommandLine = command.options.filter(
    option => command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  return Object.fromEntries(
    fromCommandLine.map(option => [
      (option.long ?? '').replace(/^--(no-)?/, ''),
      command.getOptionValue(option.attributeName()) as unknown,
    ]),
  );
};

/** Adds the options of `trainyard worker`. The commands `doctor` and `install-service` have the same options. */
export const withWorkerOptions = (command: Command): Command =>
  workerOptions.reduce((shaped, { flags, description, isRepeatable, isHidden }) => {
    const option = new Option(flags, description).hideHelp(isHidden === true);
    return shaped.addOption(isRepeatable ? option.argParser(collect) : option);
  }, command);

const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];
