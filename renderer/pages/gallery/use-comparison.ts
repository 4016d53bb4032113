import { useEffect, useMemo, useState } from 'react';
import type { JobId } from '../../../protocol/ids.ts';
import type { GalleryView, ViewProps } from './address.ts';
import { useKeys } from './keys.ts';
import {
  compareSamples,
  type GallerySample,
  indexOfPosition,
  sampleAt,
  type Unit,
  unitsOf,
} from './model.ts';

/** Delay before the URL follows the view, because browsers limit how often a page may change its URL. */
const urlDelayMs = 250;

/** The state of a comparison: its step, the prompt and job that the keys act on, and the sample in full screen. */
export function useComparison({ view, onShow }: ViewProps, samples: readonly GallerySample[]) {
  const [shownView, setShownView] = useState(view);
  const [focused, setFocused] = useState<JobId | null>(null);
  useUrlUpdate(shownView, view, onShow);
  const units = useMemo(() => unitsOf(samples), [samples]);
  const unit: Unit = units.find(each => each === shownView.unit) ?? units[0] ?? 'step';
  const comparison = useMemo(() => compareSamples(samples, unit), [samples, unit]);
  const { positions, rows } = comparison;
  const index = indexOfPosition(positions, shownView.unit === unit ? shownView.position : null);
  const position = positions[index] ?? 0;
  const row = rows.find(({ promptKey }) => promptKey === shownView.prompt) ?? rows[0];
  const sampleOf = (job: JobId): GallerySample | null => sampleAt(row?.byJob.get(job) ?? [], position);
  const change = (part: Partial<GalleryView>): void => setShownView(was => ({ ...was, ...part }));
  const moveTo = (to: number): void => {
    const next = positions[to];
    if (next !== undefined) change({ unit, position: next });
  };
  const openSample = (job: JobId, prompt: string): void => change({ open: job, prompt, unit, position });
  const openFocused = (): void => {
    const jobs = focused === null ? view.jobs : [focused, ...view.jobs];
    const job = jobs.find(each => sampleOf(each) !== null);
    if (row !== undefined && job !== undefined) openSample(job, row.promptKey);
  };
  useKeys({ ArrowLeft: () => moveTo(index - 1), ArrowRight: () => moveTo(index + 1), f: openFocused }, false);
  return {
    ...comparison,
    view: shownView,
    change,
    units,
    unit,
    index,
    position,
    moveTo,
    openSample,
    open: shownView.open === null ? null : sampleOf(shownView.open),
    showInFull: ({ at, promptKey }: GallerySample): void =>
      change({ prompt: promptKey, ...(at !== null && { unit: at.unit, position: at.count }) }),
    noteFocus(job: JobId, prompt: string): void {
      setFocused(job);
      change({ prompt });
    },
  };
}

function useUrlUpdate(shownView: GalleryView, view: GalleryView, onShow: ViewProps['onShow']): void {
  const isSame =
    shownView.position === view.position &&
    shownView.unit === view.unit &&
    shownView.prompt === view.prompt &&
    shownView.open === view.open;
  useEffect(() => {
    if (isSame) return undefined;
    const timer = setTimeout(() => onShow(shownView, true), urlDelayMs);
    return () => clearTimeout(timer);
  }, [shownView, isSame, onShow]);
}
