import { basename } from 'node:path/posix';
import type { TrainerConfig } from '../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { trainerFor } from '../../../trainers/index.ts';
import { maxConfigChars } from './config-reading.ts';
import { checkNewFile, foldName } from './config-names.ts';

/** A file stored beside a config. */
export interface Companion {
  readonly name: string;
  readonly text: string;
}

/**
 * Returns the files to store beside a config. Each file's name is the last part of its path, so that `config-reading` finds it.
 * Refuses a file that the config does not name, so that clients cannot write other files.
 */
export function companionsOf(
  config: TrainerConfig,
  files: Readonly<Record<string, string>>,
): Outcome<readonly Companion[]> {
  const references = trainerFor(config).references(config);
  const namedPaths = new Set(references.filter(({ kind }) => kind === 'file').map(({ path }) => path));
  const companions = new Map<string, Companion>();
  for (const [path, text] of Object.entries(files)) {
    if (!namedPaths.has(path)) return refuse('config_invalid', `The config does not name the file ${path}`);
    const name = basename(path.replaceAll('\\', '/'));
    const checked = checkNewFile(name);
    if (!checked.ok) return checked;
    const other = companions.get(foldName(name));
    if (other !== undefined && (other.name !== name || other.text !== text))
      return refuse(
        'config_invalid',
        `The config names two files called ${name}, and only one can be stored beside it: rename one of them`,
      );
    companions.set(foldName(name), { name, text });
  }
  return accept([...companions.values()]);
}

/** Returns indented JSON, or compact JSON when indentation would exceed the size limit. */
export function configText(config: TrainerConfig): Outcome<string> {
  const compact = compactOf(config);
  if (compact === null) return refuse('config_invalid', 'The config is nested too deeply');
  if (compact.length > maxConfigChars)
    return refuse('body_too_large', `The config is larger than ${maxConfigChars} characters`);
  const indented = depthOf(compact) > maxIndentedDepth ? compact : `${JSON.stringify(config, null, 2)}\n`;
  return accept(indented.length > maxConfigChars ? compact : indented);
}

/** Configs nested deeper than this are compact: indentation grows with the square of the depth. */
const maxIndentedDepth = 32;

function compactOf(config: TrainerConfig): string | null {
  try {
    return `${JSON.stringify(config)}\n`;
  } catch (cause) {
    if (cause instanceof RangeError) return null;
    throw cause;
  }
}

function depthOf(json: string): number {
  let depth = 0;
  let maxDepth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (char === '"') inString = !inString;
    else if (inString) {
      // Skips the escaped character, which may be a quote.
      if (char === '\\') at += 1;
    } else if (char === '{' || char === '[') {
      depth += 1;
      maxDepth = Math.max(maxDepth, depth);
    } else if (char === '}' || char === ']') depth -= 1;
  }
  return maxDepth;
}
