import { z } from 'zod';

/** Limits for one version of a dataset. */
export const datasetLimits = {
  /** Maximum number of files. */
  files: 500_000,
  /** Maximum number of characters of a path. */
  path: 2_048,
  /** Maximum size of a name in bytes of UTF-8, as in common file systems. */
  name: 255,
  /** Maximum number of names in a path. */
  depth: 64,
} as const;

export const Sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('SHA-256 in lower-case hex.');

/** One file of a dataset. */
export const DatasetFile = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(datasetLimits.path)
    .describe("Relative to the dataset's folder, with forward slashes."),
  bytes: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).describe('Size of the file in bytes.'),
  sha256: Sha256,
});
export type DatasetFile = Readonly<z.infer<typeof DatasetFile>>;

/** Training data of a job: one version of a dataset. */
export const JobData = z.object({
  path: z
    .string()
    .min(1)
    .max(1_000)
    .describe("The path in the job's config; the worker replaces it by the location of the fetched data."),
  version: Sha256.describe('The SHA-256 of the manifest.'),
  files: z.number().int().min(1).max(datasetLimits.files).describe('Number of files.'),
  bytes: z.number().int().min(0).describe('Total size of the files in bytes.'),
  is_file: z.boolean().describe("Whether the path refers to the dataset's only file instead of a folder."),
});
export type JobData = Readonly<z.output<typeof JobData>>;

/** Training data as requested in a submission. */
export const DataRequest = z.strictObject({
  path: JobData.shape.path,
  version: Sha256,
  is_file: z
    .boolean()
    .default(false)
    .describe("Whether the path refers to the dataset's only file instead of a folder."),
});

export type Manifest =
  | { readonly ok: true; readonly files: readonly DatasetFile[] }
  /** A sentence without the full stop. */
  | { readonly ok: false; readonly reason: string };

/** Returns why a path is invalid in a dataset; null when it is valid. Completes "The path X ...". */
export function datasetPathFlaw(path: string): string | null {
  if (path.length > datasetLimits.path) return `is longer than ${datasetLimits.path} characters`;
  const names = path.split('/');
  if (names.length > datasetLimits.depth) return `has more than ${datasetLimits.depth} levels of folders`;
  return names.map(nameFlaw).find(flaw => flaw !== null) ?? null;
}

function nameFlaw(name: string): string | null {
  if (name === '') return 'contains an empty name';
  if (name === '.' || name === '..') return `contains the name ${name}`;
  // A backslash separates names on Windows. Control characters and lone surrogates disguise a name.
  if (/[\\\p{Cc}\p{Cs}]/u.test(name))
    return 'contains a backslash, a control character or an invalid character';
  const bytes = new TextEncoder().encode(name).length;
  return bytes > datasetLimits.name ? `contains a name longer than ${datasetLimits.name} bytes` : null;
}

/** Paths with the same key are one file on systems that ignore case or normalize Unicode. */
const collisionKey = (path: string): string => path.normalize('NFC').toLowerCase().toUpperCase();

/** Compares two files by path. Never called with equal paths, because a dataset contains each path once. */
const byPath = (a: DatasetFile, b: DatasetFile): number => (a.path < b.path ? -1 : 1);

/** Checks the files of a dataset one by one. */
interface FilesCheck {
  /** Returns why the file is invalid or conflicts with an earlier file; null if it is valid. Omits the sentence's full stop. */
  add(file: DatasetFile): string | null;
  /** Call after all files. Returns why the dataset as a whole is invalid; null when it is valid. */
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
      // The folders above a known folder are also known.
      if (twin === folder) return null;
      const earlierPath = twin ?? files.get(key);
      if (earlierPath !== undefined) return collision(folder, earlierPath);
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
      const earlierPath = files.get(key) ?? folders.get(key);
      if (earlierPath !== undefined) return collision(path, earlierPath);
      files.set(key, path);
      return addFolders(path);
    },
    end: () => (files.size === 0 ? 'The dataset has no files' : null),
  };
}

/** Checks the files of a dataset together and sorts them by path. */
export function checkManifest(files: readonly DatasetFile[]): Manifest {
  const check = createFilesCheck();
  for (const file of files) {
    const flaw = check.add(file);
    if (flaw !== null) return { ok: false, reason: flaw };
  }
  const flaw = check.end();
  return flaw === null ? { ok: true, files: files.toSorted(byPath) } : { ok: false, reason: flaw };
}

const collision = (path: string, earlierPath: string): string =>
  path === earlierPath
    ? `The path ${JSON.stringify(path)} occurs twice`
    : `The paths ${JSON.stringify(earlierPath)} and ${JSON.stringify(path)} are the same file on systems that ignore case: rename one of them`;

/** Returns the text whose SHA-256 is the version of the dataset: one JSON line per file, sorted by path. */
export const manifestText = (sorted: readonly DatasetFile[]): string => sorted.map(lineOf).join('');

const lineOf = ({ path, bytes, sha256 }: DatasetFile): string =>
  `${JSON.stringify({ path, bytes, sha256 })}\n`;

/**
 * Reads a manifest in chunks. It refuses any text that `manifestText` would not write, so that equal files always have
 * equal manifests.
 */
interface ManifestReader {
  /** Adds the next characters. Errors are reported by `end`. */
  push(text: string): void;
  end(): Manifest;
}

export function createManifestReader(): ManifestReader {
  const check = createFilesCheck();
  const files: DatasetFile[] = [];
  let rest = '';
  let reason: string | null = null;
  const readLine = (line: string): string | null => {
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
        reason = readLine(all.slice(from, to));
        from = to + 1;
      }
      rest = reason === null ? all.slice(from) : '';
      if (rest.length > maxLine) reason = 'A line of the manifest is too long';
    },
    end() {
      const flaw = reason ?? (rest === '' ? check.end() : 'The manifest does not end with a line break');
      return flaw === null ? { ok: true, files } : { ok: false, reason: flaw };
    },
  };
}

/** The maximum length of a line. A JSON escape has up to six characters. */
const maxLine = datasetLimits.path * 6 + 200;

/** Parses a complete manifest. */
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
