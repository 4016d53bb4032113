import type { Labels } from '../../../../protocol/text.ts';

/** A change of the labels that an admin has set. */
export interface LabelChange {
  /** Labels to add. A label with the same key is replaced. */
  readonly added: Labels;
  readonly removed: ReadonlySet<string>;
}

/** Returns the labels after the change; null when it changes none of them. */
export function changedLabels(labels: Labels, { added, removed }: LabelChange): Labels | null {
  const remaining = Object.entries(labels).filter(([key]) => !removed.has(key));
  const next = { ...Object.fromEntries(remaining), ...added };
  const isSame =
    Object.keys(next).length === Object.keys(labels).length &&
    Object.entries(next).every(([key, value]) => labels[key] === value);
  return isSame ? null : next;
}

/** Describes the change of one worker, such as "+team=nlp −site". Empty when nothing changes. */
export function labelChangeText(labels: Labels, change: LabelChange): string {
  const next = changedLabels(labels, change);
  if (next === null) return '';
  const added = Object.entries(next).filter(([key, value]) => labels[key] !== value);
  const removed = Object.keys(labels).filter(key => !Object.hasOwn(next, key));
  return [...added.map(([key, value]) => `+${key}=${value}`), ...removed.map(key => `−${key}`)].join(' ');
}
