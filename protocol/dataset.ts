import { z } from 'zod';

/** Of one version of a dataset. */
export const datasetLimits = {
  files: 500_000,
  /** Of a path, in characters. */
  path: 2_048,
  /** Of one name in a path, in bytes of UTF-8: file systems take 255. */
  name: 255,
  /** Names in a path. */
  depth: 64,
} as const;

/** SHA-256 in lower-case hex. */
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** One file of a dataset. */
export const DatasetFile = z.strictObject({
  /** Relative to the folder of the dataset, with slashes between names. */
  path: z.string().min(1).max(datasetLimits.path),
  bytes: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  sha256: Sha256,
});
export type DatasetFile = Readonly<z.infer<typeof DatasetFile>>;

/** Training data of a job: one version of a dataset. */
export const JobData = z.object({
  /** As the config of the job has it; the worker puts the place of the fetched data there. */
  path: z.string().min(1).max(1_000),
  /** The SHA-256 of the manifest. */
  version: Sha256,
  files: z.number().int().min(1).max(datasetLimits.files),
  bytes: z.number().int().min(0),
  /** The path stands for the single file of the dataset, not for a folder. */
  is_file: z.boolean(),
});
export type JobData = Readonly<z.output<typeof JobData>>;

/** What a submission says of it. */
export const DataWish = z.strictObject({
  path: JobData.shape.path,
  version: Sha256,
  is_file: z.boolean().default(false),
});

export type Manifest =
  | { readonly ok: true; readonly files: readonly DatasetFile[] }
  /** A sentence without its full stop. */
  | { readonly ok: false; readonly reason: string };

/** Why a path cannot be one of a dataset; null when it can. Completes "The path X ...". */
export function datasetPathFlaw(path: string): string | null {
  if (path.length > datasetLimits.path) return `is longer than ${datasetLimits.path} characters`;
  const names = path.split('/');
  if (names.length > datasetLimits.depth) return `has more than ${datasetLimits.depth} levels of folders`;
  return names.map(nameFlaw).find(flaw => flaw !== null) ?? null;
}

function nameFlaw(name: string): string | null {
  if (name === '') return 'has an empty name in it';
  if (name === '.' || name === '..') return `has the name ${name} in it`;
  // A backslash separates names on Windows; a control character or half a character hides what the name is.
  if (/[\\\p{Cc}\p{Cs}]/u.test(name))
    return 'contains a backslash, a control character or an invalid character';
  const bytes = new TextEncoder().encode(name).length;
  return bytes > datasetLimits.name ? `has a name longer than ${datasetLimits.name} bytes in it` : null;
}

/**
 * Two paths with the same key are one file on some systems: those that ignore case, and those that normalize Unicode.
 */
const collisionKey = (path: string): string => path.normalize('NFC').toLowerCase().toUpperCase();

/** No two files of a dataset have the same path. */
const inOrder = (a: DatasetFile, b: DatasetFile): number => (a.path < b.path ? -1 : 1);

/** Checks the files of a dataset one after the other. */
interface FilesCheck {
  /** A sentence without its full stop when this file cannot be in a dataset with those before it; else null. */
  add(file: DatasetFile): string | null;
  /** The same for the dataset as a whole, once all files were added. */
  end(): string | null;
}

function createFilesCheck(): FilesCheck {
  const files = new Map<string, string>();
  const folders = new Map<string, string>();
  const addFolders = (path: string): string | null => {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      const key = collisionKey(folder);
      const twin = folders.get(key);
      // With it, its parents were added.
      if (twin === folder) return null;
      const other = twin ?? files.get(key);
      if (other !== undefined) return collision(folder, other);
      folders.set(key, folder);
    }
    return null;
  };
  return {
    add({ path }) {
      if (files.size === datasetLimits.files)
        return `The dataset has more than ${datasetLimits.files} files, which is the limit`;
      const flaw = datasetPathFlaw(path);
      if (flaw !== null) return `The path ${JSON.stringify(path)} ${flaw}`;
      const key = collisionKey(path);
      const other = files.get(key) ?? folders.get(key);
      if (other !== undefined) return collision(path, other);
      files.set(key, path);
      return addFolders(path);
    },
    end: () => (files.size === 0 ? 'The dataset has no files' : null),
  };
}

/** Checks the files of a dataset together, and sorts them by path. */
export function checkManifest(files: readonly DatasetFile[]): Manifest {
  const check = createFilesCheck();
  for (const file of files) {
    const flaw = check.add(file);
    if (flaw !== null) return { ok: false, reason: flaw };
  }
  const flaw = check.end();
  return flaw === null ? { ok: true, files: files.toSorted(inOrder) } : { ok: false, reason: flaw };
}

const collision = (one: string, other: string): string =>
  one === other
    ? `The path ${JSON.stringify(one)} is there twice`
    : `The paths ${JSON.stringify(other)} and ${JSON.stringify(one)} are the same file on systems that ignore case: rename one of them`;

/** The text whose SHA-256 is the version of a dataset: a line of JSON for each file, sorted by path. */
export const manifestText = (sorted: readonly DatasetFile[]): string => sorted.map(lineOf).join('');

const lineOf = ({ path, bytes, sha256 }: DatasetFile): string =>
  `${JSON.stringify({ path, bytes, sha256 })}\n`;

/** Reads a manifest in pieces. One content has one text: everything that `manifestText` would not write is refused. */
interface ManifestReader {
  /** The next characters. What is wrong with them is told by `end`. */
  push(text: string): void;
  end(): Manifest;
}

export function createManifestReader(): ManifestReader {
  const check = createFilesCheck();
  const files: DatasetFile[] = [];
  let rest = '';
  let reason: string | null = null;
  const take = (line: string): string | null => {
    const file = parseLine(line);
    if (file === null) return `Line ${files.length + 1} of the manifest does not describe a file`;
    const last = files.at(-1);
    const isNext = last === undefined || last.path < file.path;
    const flaw = check.add(file);
    if (flaw !== null) return flaw;
    if (!isNext || lineOf(file) !== `${line}\n`)
      return 'The manifest is not in the standard form: sorted lines of JSON with path, bytes and sha256';
    files.push(file);
    return null;
  };
  return {
    push(text) {
      const all = rest + text;
      let from = 0;
      for (let to = all.indexOf('\n'); to >= 0 && reason === null; to = all.indexOf('\n', from)) {
        reason = take(all.slice(from, to));
        from = to + 1;
      }
      rest = reason === null ? all.slice(from) : '';
      if (rest.length > longestLine) reason = 'A line of the manifest is too long';
    },
    end() {
      const flaw = reason ?? (rest === '' ? check.end() : 'The manifest does not end with a line break');
      return flaw === null ? { ok: true, files } : { ok: false, reason: flaw };
    },
  };
}

/** JSON takes up to six characters for one. */
const longestLine = datasetLimits.path * 6 + 200;

/** Reads the text of a manifest. */
export function parseManifest(text: string): Manifest {
  const reader = createManifestReader();
  reader.push(text);
  return reader.end();
}

function parseLine(line: string): DatasetFile | null {
  try {
    const parsed = DatasetFile.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
