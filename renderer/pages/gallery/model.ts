/** Arranges the samples of several jobs: a wall with the newest first, and a comparison by prompt and step. */
import { shownName } from '../../../protocol/job-about.ts';
import type { SampleView } from '../../../protocol/artifacts-api.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { type Sample, sampleOf } from '../jobs/files/sorting.ts';

/** The unit of a sample's position in the training. Some trainers write only the epoch into the names of samples. */
export type Unit = 'step' | 'epoch';

export interface GallerySample extends Sample {
  readonly view: SampleView;
  /** Equal for samples of the same prompt, also in different jobs. */
  readonly promptKey: string;
}

/** The samples of one job, newest first. */
export interface JobGroup {
  readonly job: JobId;
  readonly name: string;
  readonly samples: readonly GallerySample[];
}

export interface PromptRow {
  readonly promptKey: string;
  /** A sample of the prompt, for the prompt's text and number. */
  readonly first: SampleView;
  /** The samples of each job in the order of training. */
  readonly byJob: ReadonlyMap<JobId, readonly GallerySample[]>;
}

export interface Comparison {
  /** The distinct steps or epochs of all samples, in ascending order. */
  readonly positions: readonly number[];
  readonly rows: readonly PromptRow[];
  /** Number of samples whose names contain no position in this unit. */
  readonly unplaced: number;
}

const toGallerySample = (view: SampleView): GallerySample => ({
  ...sampleOf(view),
  view,
  promptKey: `${view.prompt_index ?? ''}/${view.prompt ?? ''}`,
});

/**
 * Merges samples from the server into the known samples, newest first. A file that was uploaded again replaces its older
 * version. Returns `samples` itself when nothing is new.
 */
export function mergeSamples(
  samples: readonly GallerySample[],
  read: readonly SampleView[],
): readonly GallerySample[] {
  const files = new Map(samples.map(sample => [fileId(sample.view), sample]));
  let isChanged = false;
  for (const view of read) {
    if ((files.get(fileId(view))?.view.order ?? -1) >= view.order) continue;
    files.set(fileId(view), toGallerySample(view));
    isChanged = true;
  }
  return isChanged ? [...files.values()].toSorted((a, b) => b.view.order - a.view.order) : samples;
}

const fileId = ({ job_id: job, key }: SampleView): string => `${job} ${key}`;

/** Groups samples by job. The job with the newest sample comes first. */
export function groupByJob(samples: readonly GallerySample[]): readonly JobGroup[] {
  const groups = new Map<JobId, GallerySample[]>();
  for (const sample of samples) {
    const samplesOfJob = groups.get(sample.view.job_id);
    if (samplesOfJob === undefined) groups.set(sample.view.job_id, [sample]);
    else samplesOfJob.push(sample);
  }
  return [...groups].map(([job, samplesOfJob]) => ({
    job,
    name: samplesOfJob[0] === undefined ? job : shownName(samplesOfJob[0].view),
    samples: samplesOfJob,
  }));
}

/** Returns the units in which samples have a position; steps come first. */
export const unitsOf = (samples: readonly GallerySample[]): readonly Unit[] =>
  (['step', 'epoch'] as const).filter(unit => samples.some(({ at }) => at?.unit === unit));

/** Arranges samples by prompt and job. Samples without a position in `unit` are only counted. */
export function compareSamples(samples: readonly GallerySample[], unit: Unit): Comparison {
  const placed = samples.filter(({ at }) => at?.unit === unit).toSorted(byTraining);
  const rows = new Map<string, Map<JobId, GallerySample[]>>();
  for (const sample of placed) {
    const row = rows.get(sample.promptKey) ?? new Map<JobId, GallerySample[]>();
    rows.set(sample.promptKey, row);
    row.set(sample.view.job_id, [...(row.get(sample.view.job_id) ?? []), sample]);
  }
  return {
    positions: [...new Set(placed.map(countOf))],
    rows: [...rows]
      .flatMap(([promptKey, byJob]) => {
        const first = [...byJob.values()][0]?.[0]?.view;
        return first === undefined ? [] : [{ promptKey, first, byJob }];
      })
      .toSorted((a, b) => natural.compare(a.promptKey, b.promptKey)),
    unplaced: samples.length - placed.length,
  };
}

const natural = new Intl.Collator('en', { numeric: true });
const countOf = ({ at }: GallerySample): number => at?.count ?? 0;

/** Sorts by step. Among samples of one step, the latest upload comes last: a later attempt has repeated the step. */
const byTraining = (a: GallerySample, b: GallerySample): number =>
  countOf(a) - countOf(b) || a.view.order - b.view.order;

/** Returns the index of the last position at or before `position`, or 0. Returns the last index if `position` is null. */
export function indexOfPosition(positions: readonly number[], position: number | null): number {
  if (position === null) return positions.length - 1;
  return Math.max(
    0,
    positions.findLastIndex(each => each <= position),
  );
}

/** Returns the last sample at or before this position; null if all are later. `samples` must be in the order of training. */
export const sampleAt = (samples: readonly GallerySample[], position: number): GallerySample | null =>
  samples.findLast(sample => countOf(sample) <= position) ?? null;

/** The samples that the arrow keys open from a sample; null where there is none. */
export interface Neighbours {
  readonly before: GallerySample | null;
  readonly after: GallerySample | null;
  readonly above: GallerySample | null;
  readonly below: GallerySample | null;
}

/**
 * Finds the neighbours of a sample among the samples of its job: its prompt at other steps, and other prompts at its
 * step. Samples without a position are sorted by name.
 */
export function neighboursOf(sample: GallerySample, samples: readonly GallerySample[]): Neighbours {
  const samplesOfJob = samples.filter(({ view }) => view.job_id === sample.view.job_id);
  const { at } = sample;
  if (at === null) {
    const others = samplesOfJob
      .filter(each => each.at === null)
      .toSorted((a, b) => natural.compare(a.name, b.name));
    return { ...around(others, others.indexOf(sample)), above: null, below: null };
  }
  const { rows } = compareSamples(samplesOfJob, at.unit);
  const row = rows.findIndex(({ promptKey }) => promptKey === sample.promptKey);
  const atStep = (index: number): GallerySample | null => {
    const ofPrompt = rows[index]?.byJob.get(sample.view.job_id) ?? [];
    return sampleAt(ofPrompt, at.count) ?? ofPrompt[0] ?? null;
  };
  const steps = rows[row]?.byJob.get(sample.view.job_id) ?? [];
  return { ...around(steps, steps.indexOf(sample)), above: atStep(row - 1), below: atStep(row + 1) };
}

const around = (list: readonly GallerySample[], index: number): Pick<Neighbours, 'before' | 'after'> => ({
  before: list[index - 1] ?? null,
  after: list[index + 1] ?? null,
});
