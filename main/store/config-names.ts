import { basename, dirname, extname } from 'node:path/posix';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import { formatOf } from '../../trainers/index.ts';

/** Of one name in a path, in bytes: file systems take no more. */
const maxSegmentBytes = 255;
/** Configs lie in folders, and these in others; deeper ones are not looked for. */
export const maxDepth = 8;

/** Control characters, and those that turn the direction of writing round or are not seen. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const deviceName = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
/** Windows opens a device or a stream by such names, and leaves dots and blanks at the end out. */
const meansOther = (segment: string): boolean =>
  process.platform === 'win32' && (deviceName.test(segment) || /[<>:"|?*]|[. ]$/.test(segment));

/** One part of a path that is neither hidden nor a way up. */
export const isPlainFile = (segment: string): boolean =>
  segment !== '' &&
  !segment.startsWith('.') &&
  !/[/\\]/.test(segment) &&
  !unseen.test(segment) &&
  Buffer.byteLength(segment) <= maxSegmentBytes &&
  !meansOther(segment);

/** The path of a config below the folder, without its ending: `flux/kontext`. */
export const isConfigName = (name: string): boolean => {
  const segments = name.split('/');
  return segments.length <= maxDepth && segments.every(isPlainFile);
};

export const checkName = (name: string): Outcome<string> =>
  isConfigName(name)
    ? accept(name)
    : refuse(
        'invalid_request',
        'config_name must be the path of a config below the configs folder, such as flux/kontext: no way up, nothing hidden',
      );

const endings = ['.json', '.jsonc', '.yaml', '.yml', '.toml'] as const;

/** A file that may hold a config. */
export interface Candidate {
  readonly name: string;
  /** Below the folder, with slashes. */
  readonly file: string;
}

/** Where a config of this name may be, in the order in which they are looked for. */
export const filesOf = (name: string): readonly string[] => [
  ...endings.flatMap(ending => [`${name}${ending}`, `${name}/config${ending}`]),
  ...(formatOf(name) === null ? [] : [name]),
];

/** The name of the config in a file: that of its folder where the file is called `config`. */
export function nameOfFile(file: string): string {
  const bare = file.slice(0, file.length - extname(file).length);
  return basename(bare) === 'config' && dirname(bare) !== '.' ? dirname(bare) : bare;
}

/** A name of any script that every file system takes, as a new file should have. */
const portableName = /^[\p{L}\p{N}_]([\p{L}\p{M}\p{N}_. +-]{0,126}[\p{L}\p{M}\p{N}_+-])?$/u;

/** What only a new file is asked for: one that is there has its name. */
export function checkNewName(name: string): Outcome<string> {
  if (Buffer.byteLength(`${name}.json`) > maxSegmentBytes)
    return refuse(
      'invalid_request',
      `The name is too long for a file: the limit is ${maxSegmentBytes} bytes`,
    );
  if (formatOf(name) !== null)
    return refuse('invalid_request', 'Leave the ending out: the file of a config NAME is called NAME.json');
  return portableName.test(name) && !deviceName.test(name)
    ? accept(name)
    : refuse(
        'invalid_request',
        'A new config needs a name that every system takes: letters, digits, . _ + - and spaces',
      );
}

/** A file beside a config must not be taken for the config itself. */
export function checkNewFile(name: string): Outcome<string> {
  const isConfig = formatOf(name) !== null && /^config\./i.test(name);
  return isPlainFile(name) && portableName.test(name) && !deviceName.test(name) && !isConfig
    ? accept(name)
    : refuse(
        'config_invalid',
        `The config names a file ${name}, which cannot lie beside it: rename the file`,
      );
}

/** Names that some file systems take for one. */
export const foldName = (name: string): string => name.normalize('NFC').toLowerCase();

export const missing = (name: string) =>
  refuse(
    'config_not_found',
    `There is no config ${name}: the configs folder has neither ${name}.json nor ${name}/config.json, and none in YAML or TOML`,
  );
