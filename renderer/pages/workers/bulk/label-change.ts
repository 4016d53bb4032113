import type { Labels } from '../../../../protocol/text.ts';

/** A change of a worker's admin labels. */
export interface LabelChange {
  /** Labels to add. A label with the same key is replaced. */
  readonly added: Labels;
  /** Keys of the labels to remove. */
  readonly removed: ReadonlySet<string>;
}

/** Returns the labels after the change; null if the change has no effect on these labels. */
export function changedLabels(labels: Labels, { added, removed }: LabelChange): Labels | null {
  const remaining = Object.entries(labels).filter(([key]) => !removed.has(key));
  const next = { ...Object.fromEntries(remaining), ...added };
  const isSame =
    Object.keys(next).length === Object.keys(labels).length &&
    Object.entries(next).every(([key, value]) => labels[key] === value);
  return isSame ? null : next;
}

/** Describes the change for one worker, such as "+team=nlp −site". Returns an empty text if nothing changes. */
export function labelChangeText(labels: Labels, change: LabelChange): string {
  const next = changedLabels(labels, change);
  if (next === null) return '';
  const added = Object.entries(next).filter(([key, value]) => labels[key] !== value);
  const removed = Object.keys(labels).filter(key => !Object.hasOwn(next, key));
  return [...added.map(([key, value]) => `+${key}=${value}`), ...removed.map(key => `−${key}`)].join(' ');
}
