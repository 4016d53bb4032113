import { Labels } from '../../../protocol/text.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { useT } from '../../i18n/index.ts';
import { LabelChips } from '../../ui/indicators.tsx';

/** Formats labels as `key=value`, one per line. */
export const formatLabels = (labels: Labels): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n');

export type ParsedLabels =
  | { readonly ok: true; readonly labels: Labels }
  /** `line`: the first invalid line. */
  | { readonly ok: false; readonly line: string };

/** Parses `key=value` pairs, separated by lines or commas. */
export function parseLabels(text: string): ParsedLabels {
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

/** Number of labels to show in a row, followed by the number of further labels. */
const shownLabels = 2;

export function LabelsCell({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const all = Object.entries(worker.labels);
  const left = all.length - shownLabels;
  return (
    <span className="worker-labels" title={formatLabels(worker.labels)}>
      <LabelChips labels={Object.fromEntries(all.slice(0, shownLabels))} />
      {left > 0 && <span className="muted worker-small">{t('workers.labels.more', { count: left })}</span>}
    </span>
  );
}
