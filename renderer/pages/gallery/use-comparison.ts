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

/** The URL follows the view after this pause, because browsers limit how often it may change. */
const addressPauseMs = 250;

/** The state of a comparison: its step, the prompt and job that the keys act on, and the sample in full screen. */
export function useComparison({ view, onShow }: ViewProps, samples: readonly GallerySample[]) {
  const [own, setOwn] = useState(view);
  const [focused, setFocused] = useState<JobId | null>(null);
  useAddress(own, view, onShow);
  const units = useMemo(() => unitsOf(samples), [samples]);
  const unit: Unit = units.find(each => each === own.unit) ?? units[0] ?? 'step';
  const comparison = useMemo(() => compareSamples(samples, unit), [samples, unit]);
  const { positions, rows } = comparison;
  const index = indexOfPosition(positions, own.unit === unit ? own.position : null);
  const position = positions[index] ?? 0;
  const row = rows.find(({ promptKey }) => promptKey === own.prompt) ?? rows[0];
  const sampleOf = (job: JobId): GallerySample | null => sampleAt(row?.byJob.get(job) ?? [], position);
  const change = (part: Partial<GalleryView>): void => setOwn(was => ({ ...was, ...part }));
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
    own,
    change,
    units,
    unit,
    index,
    position,
    moveTo,
    openSample,
    open: own.open === null ? null : sampleOf(own.open),
    showInFull: ({ at, promptKey }: GallerySample): void =>
      change({ prompt: promptKey, ...(at !== null && { unit: at.unit, position: at.count }) }),
    noteFocus(job: JobId, prompt: string): void {
      setFocused(job);
      change({ prompt });
    },
  };
}

function useAddress(own: GalleryView, view: GalleryView, onShow: ViewProps['onShow']): void {
  const isSame =
    own.position === view.position &&
    own.unit === view.unit &&
    own.prompt === view.prompt &&
    own.open === view.open;
  useEffect(() => {
    if (isSame) return undefined;
    const timer = setTimeout(() => onShow(own, true), addressPauseMs);
    return () => clearTimeout(timer);
  }, [own, isSame, onShow]);
}
