/** Reads the output of trainers with the agent's reader. */

import { expect } from 'vitest';
import { createProgressReader, type OutputItem, type Progress } from '../../agent/metrics/progress.ts';

export type Chunks = readonly (Uint8Array | string)[];

export function readAll(...chunks: Chunks): readonly OutputItem[] {
  const reader = createProgressReader();
  return [...chunks.flatMap(chunk => reader.push(chunk)), ...reader.end()];
}

/** Returns the progress in one line that ends with `\r`; undefined when the line reports none. */
export function progressOf(line: string): Progress | undefined {
  const [item, ...more] = readAll(`${line}\r`);
  expect(more).toEqual([]);
  return item?.kind === 'progress' ? item.progress : undefined;
}

export const line = (text: string, marks: { truncated?: true; redraw?: true } = {}): OutputItem => ({
  kind: 'line',
  text,
  truncated: false,
  redraw: false,
  ...marks,
});
export const json = (fields: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ type: 'progress', ...fields });
