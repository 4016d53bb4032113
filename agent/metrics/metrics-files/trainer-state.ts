/** The `trainer_state.json` that Hugging Face's Trainer writes into each checkpoint: `log_history` lists what it has logged. */

import { type Fields, fieldsOf } from '../../files/whole-file.ts';
import { parsePythonJson } from '../progress-line.ts';
import { findLossName, gatherPoints, toMetricName, type FilePoint } from './names.ts';

/** Only the summary of the whole run, logged after its end, has this key. */
const summary = 'train_runtime';

/** An entry of the history as one line of text, to compare it with earlier entries. */
export type Entry = string;

/** Null if the text is not such a file, or is not written completely yet. */
export function parseHistory(text: string): readonly Entry[] | null {
  if (!text.trimEnd().endsWith('}')) return null;
  const history = fieldsOf(parsePythonJson(text))?.['log_history'];
  return Array.isArray(history) ? history.map(entry => JSON.stringify(entry)) : null;
}

export function pointsOfHistory(entries: readonly Entry[]): readonly FilePoint[] {
  const gathered = gatherPoints();
  for (const entry of entries) {
    const { step, ...row }: Fields = fieldsOf(JSON.parse(entry)) ?? {};
    if (typeof step !== 'number' || !Number.isSafeInteger(step) || step < 0) continue;
    const names = Object.keys(row);
    const lossName = Object.hasOwn(row, summary) ? null : findLossName(names, null);
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
