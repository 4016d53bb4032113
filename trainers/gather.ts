import type { TrainerConfig } from '../protocol/job.ts';
import { configTextIn, formatOf, parseConfigText, parseFailure } from './config-text.ts';
import { isObject, type KeyPath, type Reference, type Trainer, withValueAt } from './trainer.ts';

/** A text file that a config names. If it cannot be read, `reason` completes "The config names X, but ...". */
export type FoundFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/** Finds a file by its path in a config. */
export type FindFile = (path: string) => Promise<FoundFile>;

/** A config with the contents of the files that it names. */
export interface Bundle {
  readonly config: TrainerConfig;
  /** SimpleTuner's list of datasets; null for other trainers, or when the config names none. */
  readonly dataloader: unknown;
  /** Texts of the other files, by their paths in the config. */
  readonly files: Readonly<Record<string, string>>;
}

export type Gathered =
  | { readonly ok: true; readonly bundle: Bundle }
  /** Completes "The config X ...". */
  | { readonly ok: false; readonly reason: string };

/** Maximum total length of the files of a config, in characters. */
const maxChars = 1_000_000;
const maxFiles = 32;

/** Reads all files that a config names. Returns a reason if one is missing, invalid or too large. */
export async function gather(config: TrainerConfig, trainer: Trainer, find: FindFile): Promise<Gathered> {
  let bundle: Bundle = { config, dataloader: null, files: {} };
  let chars = 0;
  const references = trainer.references(config).filter(({ kind }) => kind === 'file');
  if (references.length > maxFiles) return { ok: false, reason: `names more than ${maxFiles} files` };
  for (const reference of references) {
    const file = await find(reference.path);
    if (!file.ok) {
      if (reference.isOptional || trainer.packageContains?.(reference.path)) continue;
      return { ok: false, reason: `names ${describe(reference)}, but ${file.reason}` };
    }
    chars += file.text.length;
    if (chars > maxChars)
      return { ok: false, reason: `names files with more than ${maxChars} characters in total` };
    const added = addFile(bundle, trainer, reference, file.text);
    if (!added.ok) return added;
    bundle = added.bundle;
  }
  return { ok: true, bundle };
}

function addFile(bundle: Bundle, trainer: Trainer, reference: Reference, text: string): Gathered {
  const { path, at } = reference;
  const role = trainer.roleOf?.(at) ?? 'file';
  if (role === 'file') return { ok: true, bundle: { ...bundle, files: { ...bundle.files, [path]: text } } };
  const parsed = parseConfigText(text, formatOf(path) ?? 'json');
  if (!parsed.ok)
    return { ok: false, reason: `names ${describe(reference)}, which is not valid: ${parseFailure(parsed)}` };
  if (typeof parsed.value !== 'object' || parsed.value === null)
    return { ok: false, reason: `names ${describe(reference)}, which contains neither a list nor an object` };
  if (role === 'dataloader') return { ok: true, bundle: { ...bundle, dataloader: parsed.value } };
  return { ok: true, bundle: { ...bundle, config: { ...bundle.config, [role.key]: parsed.value } } };
}

const describe = ({ at, path }: Reference): string => `${path} (${at.join('.')})`;

/** A path of training data, and the document and key in the bundle that contain it. */
export interface DataReference {
  readonly path: string;
  /** The config itself, its dataloader, or the path of another file of the bundle. */
  readonly in: 'config' | 'dataloader' | { readonly file: string };
  readonly at: KeyPath;
}

/** Returns all paths of training data in a bundle. */
export function dataOf(bundle: Bundle, trainer: Trainer): readonly DataReference[] {
  const references = trainer.references(bundle.config);
  return [
    ...references.filter(isData).map(({ path, at }): DataReference => ({ path, at, in: 'config' })),
    ...references
      .filter(({ kind }) => kind === 'file')
      .flatMap(reference => dataBehind(bundle, trainer, reference)),
  ];
}

const isData = ({ kind }: Reference): boolean => kind === 'data';

function dataBehind(bundle: Bundle, trainer: Trainer, { at, path }: Reference): readonly DataReference[] {
  const isDataloader = trainer.roleOf?.(at) === 'dataloader';
  const document = isDataloader ? bundle.dataloader : documentIn(bundle, path);
  const container: DataReference['in'] = isDataloader ? 'dataloader' : { file: path };
  return trainer
    .referencesIn(document, at)
    .filter(isData)
    .map(value => ({ path: value.path, at: value.at, in: container }));
}

function documentIn({ files }: Bundle, path: string): unknown {
  const text = Object.hasOwn(files, path) ? files[path] : undefined;
  const parsed = text === undefined ? null : parseConfigText(text, formatOf(path) ?? 'json');
  return parsed?.ok ? parsed.value : null;
}

/** Returns a copy of a bundle in which the values at these keys are replaced by new paths. */
export function withPaths(
  bundle: Bundle,
  changes: readonly (Pick<DataReference, 'in' | 'at'> & { readonly path: string })[],
): Bundle {
  return changes.reduce((changed, { in: container, at, path }): Bundle => {
    if (container === 'dataloader')
      return { ...changed, dataloader: withValueAt(changed.dataloader, at, path) };
    if (container === 'config') {
      const config = withValueAt(changed.config, at, path);
      return isObject(config) ? { ...changed, config } : changed;
    }
    const document = withValueAt(documentIn(changed, container.file), at, path);
    if (!isObject(document)) return changed;
    // The trainer determines the format from the file extension.
    const text = configTextIn(document, formatOf(container.file) === 'toml' ? 'toml' : 'json');
    return { ...changed, files: { ...changed.files, [container.file]: text } };
  }, bundle);
}
