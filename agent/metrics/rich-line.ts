/**
 * Parses the progress of Lightning's RichProgressBar. Epochs count from 0 to the number after the slash. A narrow output wraps the
 * columns, so that figures are alone on the lines below:
 *
 *     Epoch 2/2  ━━━━━━━━━━━━━━━━ 100/100 0:00:00 •       262.88it/s v_num: 0.000
 *                                         0:00:00                    train_loss: 0.074
 */

import { countOf, type Progress, percentOf, readFields, stepsOf } from './progress-figures.ts';

/** A longer line is not parsed, which bounds the work. */
const maxLength = 2_048;
const bar =
  /^Epoch (\d{1,9})\/(\d{1,9}) {1,8}[━╸╺]{1,400} {0,400}(\d{1,12})\/(\d{1,12}) {1,20}\d{1,6}:\d\d:\d\d •(?: {1,80}[-\d]{1,6}:[-\d]{2}:[-\d]{2})?(?: {1,80}(\d{1,12}(?:\.\d{1,6})?)it\/s)?/;
const below = /^ {8,400}(?:\d{1,6}:\d\d:\d\d)? {0,400}(?=[A-Za-z_])/;
const pair = /([A-Za-z_][\w./-]{0,63}): ([^\s:]{1,40})(?=\s|$)/g;

export function parseRichBar(text: string): Progress | undefined {
  if (!text.startsWith('Epoch ') || text.length > maxLength) return undefined;
  const match = bar.exec(text);
  if (match === null) return undefined;
  const [whole, epoch, last, done, total, rate] = match.map(part => part ?? '');
  const step = Number(epoch) * Number(total) + Number(done);
  const totalSteps = (Number(last) + 1) * Number(total);
  return {
    ...fieldsIn(text.slice((whole ?? '').length)),
    step: stepsOf(step),
    totalSteps: totalSteps > 0 ? stepsOf(totalSteps) : undefined,
    percent: totalSteps > 0 ? percentOf(step, totalSteps) : undefined,
    epoch: countOf(epoch),
    stepsPerSecond: countOf(rate),
  };
}

/** Parses a line of figures below a bar; undefined for any other line. */
export function parseRichFigures(line: string): Progress | undefined {
  const [indent] = (line.length <= maxLength ? below.exec(line) : null) ?? [];
  if (indent === undefined) return undefined;
  const text = line.slice(indent.length);
  return text.replaceAll(pair, '').trim() === '' ? fieldsIn(text) : undefined;
}

const fieldsIn = (text: string): Progress =>
  readFields(new Map([...text.matchAll(pair)].map(([, name = '', value]) => [name, value] as const)));
