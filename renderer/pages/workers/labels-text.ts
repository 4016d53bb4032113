import { Labels } from '../../../protocol/labels.ts';

/** One label a line. */
export const textOfLabels = (labels: Labels): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n');

export type LabelsRead =
  | { readonly ok: true; readonly labels: Labels }
  /** The line that is no label. */
  | { readonly ok: false; readonly line: string };

/** `key=value`, one a line, or with commas between them. */
export function readLabels(text: string): LabelsRead {
  const labels: [string, string][] = [];
  for (const line of text.split(/[\n,]/).map(part => part.trim())) {
    if (line === '') continue;
    const [, key, value] = /^([^=\s]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined) return { ok: false, line };
    if (!Labels.safeParse({ [key]: value }).success) return { ok: false, line };
    labels.push([key, value]);
  }
  const all = Labels.safeParse(Object.fromEntries(labels));
  return all.success ? { ok: true, labels: all.data } : { ok: false, line: labels.at(-1)?.join('=') ?? '' };
}
