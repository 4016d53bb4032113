import {
  type ArtifactView,
  type CheckpointView,
  checkpointOf,
  manifestName,
} from '../../../../protocol/artifact.ts';
import { type Moment, readMoment } from './moments.ts';

/** Image types that browsers can show; other samples can only be downloaded. SVG is excluded because it can contain scripts. */
const pictureTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
  bmp: 'image/bmp',
};
const filmTypes: Readonly<Record<string, string>> = { mp4: 'video/mp4', webm: 'video/webm' };

export interface Sample {
  readonly file: ArtifactView;
  /** Without its folder. */
  readonly name: string;
  /** Null when a browser cannot show it. */
  readonly kind: 'picture' | 'film' | null;
  /** Media type; empty where `kind` is null. */
  readonly type: string;
  /** Null when the name does not state it. */
  readonly at: Moment | null;
  /** The same for samples of one prompt at several steps. */
  readonly series: string;
}

/** Samples of one step or epoch, or of one folder. */
export interface SampleGroup {
  readonly id: string;
  readonly at: Moment | null;
  /** Empty for files outside of folders. */
  readonly folder: string;
  readonly samples: readonly Sample[];
}

export interface Sorted {
  readonly samples: readonly Sample[];
  /** Files that are neither samples nor part of a listed checkpoint. */
  readonly others: readonly ArtifactView[];
}

/** Sorts all files into the sections of the page; no file is left out. */
export function sorted(files: readonly ArtifactView[], checkpoints: readonly CheckpointView[]): Sorted {
  const names = new Set(checkpoints.map(({ name }) => name));
  return {
    samples: files.filter(({ kind }) => kind === 'sample_image').map(sampleOf),
    others: files.filter(
      ({ kind, key }) => kind !== 'sample_image' && !names.has(checkpointOf(key)?.name ?? ''),
    ),
  };
}

/** @internal */
export function sampleOf(file: ArtifactView): Sample {
  const segments = file.key.split('/');
  const name = segments.at(-1) ?? file.key;
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const type = pictureTypes[ending] ?? filmTypes[ending] ?? '';
  return {
    file,
    name,
    kind: type === '' ? null : type.startsWith('image/') ? 'picture' : 'film',
    type,
    ...readMoment(file.key),
  };
}

/** Newest first. Samples of a group are sorted by name, so that a prompt has the same place in each group. */
export function groupsOf(samples: readonly Sample[]): readonly SampleGroup[] {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const id = groupOf(sample);
    const others = groups.get(id);
    if (others === undefined) groups.set(id, [sample]);
    else others.push(sample);
  }
  const dated = [...groups].map(([id, own]) => ({
    group: {
      id,
      at: own[0]?.at ?? null,
      folder: folderOf(own[0]),
      samples: own.toSorted((a, b) => natural.compare(a.file.key, b.file.key)),
    },
    attempt: own.reduce((most, { file }) => Math.max(most, file.attempt), 0),
    newest: own.reduce((most, { file }) => (file.created_at > most ? file.created_at : most), ''),
  }));
  return inOrderOfSteps(dated)
    .toSorted((a, b) => compareText(b.newest, a.newest) || byStep(b, a))
    .map(({ group }) => group);
}

interface DatedGroup {
  readonly group: SampleGroup;
  readonly attempt: number;
  readonly newest: string;
}

const byStep = (a: DatedGroup, b: DatedGroup): number =>
  a.attempt - b.attempt || (a.group.at?.count ?? 0) - (b.group.at?.count ?? 0);

/** Workers upload the newest of several samples first. A step therefore counts as at least as new as each step before it. */
function inOrderOfSteps(groups: readonly DatedGroup[]): readonly DatedGroup[] {
  const latest = new Map<string, string>();
  return groups.toSorted(byStep).map(dated => {
    const unit = dated.group.at?.unit;
    if (unit === undefined) return dated;
    const before = latest.get(unit) ?? '';
    const newest = dated.newest > before ? dated.newest : before;
    latest.set(unit, newest);
    return { ...dated, newest };
  });
}

const natural = new Intl.Collator('en', { numeric: true });
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const groupOf = (sample: Sample): string =>
  sample.at === null ? `/${folderOf(sample)}` : `${sample.at.unit} ${sample.at.count}`;

const folderOf = (sample: Sample | undefined): string =>
  sample?.file.key.split('/').slice(0, -1).join('/') ?? '';

/** Returns samples of the same prompt at other steps, sorted by step. */
export const comparable = (sample: Sample, samples: readonly Sample[]): readonly Sample[] =>
  sample.at === null
    ? []
    : samples
        .filter(
          ({ series, at, kind, file }) =>
            series === sample.series && at !== null && kind === sample.kind && file.key !== sample.file.key,
        )
        .toSorted((a, b) => (a.at?.count ?? 0) - (b.at?.count ?? 0));

/**
 * Puts the manifest first. Without it the checkpoint is invalid, so an interrupted deletion cannot leave a checkpoint that looks complete.
 */
export const inOrderOfDeletion = (files: readonly ArtifactView[]): readonly ArtifactView[] =>
  files.toSorted((a, b) => Number(isManifest(b)) - Number(isManifest(a)));

const isManifest = ({ key }: ArtifactView): boolean => key.split('/').at(-1) === manifestName;
