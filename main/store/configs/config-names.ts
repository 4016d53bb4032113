import { basename, dirname, extname } from 'node:path/posix';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { formatOf } from '../../../trainers/index.ts';

/** Maximum length of one path segment in bytes, as in most file systems. */
const maxSegmentBytes = 255;
/** Maximum depth of a config's path; deeper files are ignored. */
export const maxDepth = 8;

/** Control characters, invisible characters, and those that change the text direction. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const deviceName = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
/** Windows opens devices or streams by such names, and strips trailing dots and spaces. */
const isReservedOnWindows = (segment: string): boolean =>
  process.platform === 'win32' && (deviceName.test(segment) || /[<>:"|?*]|[. ]$/.test(segment));

/** Whether a path segment is valid: neither hidden nor `..`. */
export const isPlainFile = (segment: string): boolean =>
  segment !== '' &&
  !segment.startsWith('.') &&
  !/[/\\]/.test(segment) &&
  !invisible.test(segment) &&
  Buffer.byteLength(segment) <= maxSegmentBytes &&
  !isReservedOnWindows(segment);

/** A config's path below the folder, without the extension: `flux/kontext`. */
export const isConfigName = (name: string): boolean => {
  const segments = name.split('/');
  return segments.length <= maxDepth && segments.every(isPlainFile);
};

/** Refuses a name that is not the path of a config below the configs folder. */
export const checkName = (name: string): Outcome<string> =>
  isConfigName(name)
    ? accept(name)
    : refuse(
        'invalid_request',
        'config_name must be the path of a config below the configs folder, such as flux/kontext, without ".." and hidden names',
      );

const endings = ['.json', '.jsonc', '.yaml', '.yml', '.toml'] as const;

/** A file that may contain a config. */
export interface Candidate {
  readonly name: string;
  /** Path below the folder, with forward slashes. */
  readonly file: string;
}

/** Returns the possible files of a config, in search order. */
export const filesOf = (name: string): readonly string[] => [
  ...endings.flatMap(ending => [`${name}${ending}`, `${name}/config${ending}`]),
  ...(formatOf(name) === null ? [] : [name]),
];

/** Returns the config name of a file: its path without the extension, or its folder when the file is named `config`. */
export function nameOfFile(file: string): string {
  const bare = file.slice(0, file.length - extname(file).length);
  return basename(bare) === 'config' && dirname(bare) !== '.' ? dirname(bare) : bare;
}

/** Accepts letters of any script, but only names that every file system supports. */
const portableName = /^[\p{L}\p{N}_]([\p{L}\p{M}\p{N}_. +-]{0,126}[\p{L}\p{M}\p{N}_+-])?$/u;

/** Checks the name of a new config. Stricter than `checkName`, because the file must be valid on every system. */
export function checkNewName(name: string): Outcome<string> {
  if (Buffer.byteLength(`${name}.json`) > maxSegmentBytes)
    return refuse(
      'invalid_request',
      `The name is too long for a file: the limit is ${maxSegmentBytes} bytes`,
    );
  if (formatOf(name) !== null)
    return refuse('invalid_request', 'Omit the extension: the file of a config NAME is called NAME.json');
  return portableName.test(name) && !deviceName.test(name)
    ? accept(name)
    : refuse(
        'invalid_request',
        'The name of a new config must be valid on every system: use letters, digits, . _ + - and spaces',
      );
}

/** Checks the name of a new companion file, which must not be mistaken for the config itself. */
export function checkNewFile(name: string): Outcome<string> {
  const isConfig = formatOf(name) !== null && /^config\./i.test(name);
  return isPlainFile(name) && portableName.test(name) && !deviceName.test(name) && !isConfig
    ? accept(name)
    : refuse(
        'config_invalid',
        `The config names a file ${name}, which cannot be stored beside it: rename the file`,
      );
}

/** Maps names that some file systems treat as the same to one key. */
export const foldName = (name: string): string => name.normalize('NFC').toLowerCase();

export const missing = (name: string) =>
  refuse(
    'config_not_found',
    `There is no config ${name}: the configs folder has neither ${name}.json nor ${name}/config.json, and none in YAML or TOML`,
  );
