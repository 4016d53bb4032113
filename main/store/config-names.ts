import { join } from 'node:path';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';

/** One plain file name of any script: no separators, no dot at either end, nothing that a file system interprets. */
const plainName = /^[\p{L}\p{N}_]([\p{L}\p{M}\p{N}_. -]{0,126}[\p{L}\p{M}\p{N}_-])?$/u;
const deviceName = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

export const isPlainFile = (name: string): boolean => plainName.test(name);

export const isConfigName = (name: string): boolean => plainName.test(name) && !deviceName.test(name);

export const checkName = (name: string): Outcome<string> =>
  isConfigName(name)
    ? accept(name)
    : refuse(
        'invalid_request',
        'config_name must be the plain name of a config: letters, digits, . _ - and spaces',
      );

/** Where a config of this name may be, in this order. */
export const filesOf = (name: string): readonly [flat: string, own: string] => [
  `${name}.json`,
  join(name, 'config.json'),
];

const mostBytes = 255;

/** What only a new file is asked for: one that is there has its name. */
export function checkNewName(name: string): Outcome<string> {
  if (Buffer.byteLength(`${name}.json`) > mostBytes)
    return refuse(
      'invalid_request',
      `The name is too long for a file: ${mostBytes} bytes in all are the most`,
    );
  if (/\.json$/i.test(name))
    return refuse('invalid_request', 'Leave .json out: the file of a config NAME is called NAME.json');
  return accept(name);
}

/** Names that some file systems take for one. */
export const foldName = (name: string): string => name.normalize('NFC').toLowerCase();

export const missing = (name: string) =>
  refuse(
    'config_not_found',
    `There is no config ${name}: neither ${name}.json nor ${name}/config.json in the configs folder`,
  );
