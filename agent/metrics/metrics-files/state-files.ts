import { type Fields, fieldsOf } from '../../files/whole-file.ts';
import { parsePythonJson } from '../progress-line.ts';
import { type MetricsFile, readPart } from './files.ts';
import { createNewerFilter, type FilePoint, findLossName, gatherPoints, toMetricName } from './names.ts';

const maxBytes = 16 * 1024 * 1024;

/** Only the summary of the whole run, which is logged at its end, has this key. */
const summaryKey = 'train_runtime';

/** An entry of the history as one line of text, to compare it with earlier entries. */
type Entry = string;

/**
 * Reads the newest `trainer_state.json` files. Hugging Face's Trainer writes one into each checkpoint. Its `log_history`
 * contains everything that was logged before the checkpoint.
 */
export interface StateFiles {
  /** Skips the current entries of the file, which were logged before this attempt. */
  skip(file: MetricsFile): Promise<void>;
  read(file: MetricsFile): Promise<readonly FilePoint[]>;
}

export function createStateFiles(): StateFiles {
  const newer = createNewerFilter();
  const earlierEntries = new Set<Entry>();
  /** The version of each file that was read. A half-written file is read again after it has changed. */
  const readVersions = new Map<string, string>();

  const entriesOf = async ({ path, bytes, changedAt }: MetricsFile): Promise<readonly Entry[]> => {
    const version = `${bytes} ${changedAt}`;
    if (readVersions.get(path) === version || bytes > maxBytes) return [];
    readVersions.set(path, version);
    const part = await readPart(path, 0, maxBytes);
    return part === null ? [] : (parseHistory(new TextDecoder().decode(part)) ?? []);
  };

  return {
    async skip(file) {
      for (const entry of await entriesOf(file)) earlierEntries.add(entry);
    },
    async read(file) {
      const entries = await entriesOf(file);
      return newer(pointsOfHistory(entries.filter(entry => !earlierEntries.has(entry))), true);
    },
  };
}

/** Returns null if the text is not a trainer state, or is not completely written yet. */
function parseHistory(text: string): readonly Entry[] | null {
  if (!text.trimEnd().endsWith('}')) return null;
  const history = fieldsOf(parsePythonJson(text))?.['log_history'];
  return Array.isArray(history) ? history.map(entry => JSON.stringify(entry)) : null;
}

function pointsOfHistory(entries: readonly Entry[]): readonly FilePoint[] {
  const gathered = gatherPoints();
  for (const entry of entries) {
    const { step, ...row }: Fields = fieldsOf(JSON.parse(entry)) ?? {};
    if (typeof step !== 'number' || !Number.isSafeInteger(step) || step < 0) continue;
    const names = Object.keys(row);
    const lossName = Object.hasOwn(row, summaryKey) ? null : findLossName(names, null);
    for (const [name, value] of Object.entries(row))
      if (typeof value === 'number' || isGap(name, value))
        gathered.add(
          step,
          null,
          toMetricName(name, lossName),
          typeof value === 'number' ? value : Number.NaN,
        );
  }
  return gathered.points();
}

/** Python writes NaN, which JSON does not have. The parser turns it into null. */
const isGap = (name: string, value: unknown): boolean => value === null && /loss|norm/i.test(name);
