import {
  type ArtifactView,
  type CheckpointView,
  checkpointOf,
  manifestName,
} from '../../../../protocol/artifact.ts';
import { readSampleName } from '../../../../protocol/sample-name.ts';

export interface Sample {
  readonly file: ArtifactView;
  /** Name of the file without its folder. */
  readonly name: string;
  /** Null when browsers cannot display the file. */
  readonly kind: 'picture' | 'film' | null;
  /** Media type; empty when `kind` is null. */
  readonly type: string;
  /** Step or epoch; null if the name of the file contains neither. */
  readonly at: TrainingPosition | null;
  /** Equal for samples of the same prompt at different steps. */
  readonly series: string;
}

/** The samples of one step or epoch. Samples without a position are grouped by folder. */
export interface SampleGroup {
  readonly id: string;
  readonly at: TrainingPosition | null;
  /** Empty for files that are not in a folder. */
  readonly folder: string;
  readonly samples: readonly Sample[];
}

export interface SortedFiles {
  readonly samples: readonly Sample[];
  /** Files that are neither samples nor part of a listed checkpoint. */
  readonly others: readonly ArtifactView[];
}

/** Separates samples and other files. Omits only files of the given checkpoints, which the page lists separately. */
export function sortFiles(
  files: readonly ArtifactView[],
  checkpoints: readonly CheckpointView[],
): SortedFiles {
  const names = new Set(checkpoints.map(({ name }) => name));
  return {
    samples: files.filter(({ kind }) => kind === 'sample_image').map(sampleOf),
    others: files.filter(
      ({ kind, key }) => kind !== 'sample_image' && !names.has(checkpointOf(key)?.name ?? ''),
    ),
  };
}

/** Derives the properties of a sample from the name of its file. */
export function sampleOf(file: ArtifactView): Sample {
  const segments = file.key.split('/');
  const name = segments.at(-1) ?? file.key;
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const type = pictureTypes[ending] ?? filmTypes[ending] ?? '';
  return {
    file,
    name,
    kind: kindOf(type),
    type,
    ...readPosition(file.key),
  };
}

function kindOf(type: string): Sample['kind'] {
  if (type === '') return null;
  return type.startsWith('image/') ? 'picture' : 'film';
}

/** Images above this size load only when the user opens them. */
export const maxThumbnailBytes = 16_000_000;

/** Returns the newest sample that can be a thumbnail; null if there is none. `files` must be sorted, newest first. */
export function newestPicture(files: readonly ArtifactView[]): Sample | null {
  const samples = sortFiles(files, []).samples.filter(
    ({ kind, file }) => kind === 'picture' && file.bytes <= maxThumbnailBytes,
  );
  return groupsOf(samples)[0]?.samples[0] ?? null;
}

/**
 * Groups samples, newest group first. Samples of a group are sorted by name, so that each prompt has the same position
 * in every group.
 */
export function groupsOf(samples: readonly Sample[]): readonly SampleGroup[] {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const id = groupOf(sample);
    const others = groups.get(id);
    if (others === undefined) groups.set(id, [sample]);
    else others.push(sample);
  }
  const dated = [...groups].map(([id, samplesOfGroup]) => ({
    group: {
      id,
      at: samplesOfGroup[0]?.at ?? null,
      folder: folderOf(samplesOfGroup[0]),
      samples: samplesOfGroup.toSorted((a, b) => natural.compare(a.file.key, b.file.key)),
    },
    attempt: samplesOfGroup.reduce((most, { file }) => Math.max(most, file.attempt), 0),
    newest: samplesOfGroup.reduce((most, { file }) => (file.created_at > most ? file.created_at : most), ''),
  }));
  return withCorrectedTimes(dated)
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

/**
 * Corrects the times of groups, so that no step is older than an earlier step. Workers upload the newest sample first,
 * so upload times alone would give the wrong order.
 */
function withCorrectedTimes(groups: readonly DatedGroup[]): readonly DatedGroup[] {
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
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const groupOf = (sample: Sample): string =>
  sample.at === null ? `/${folderOf(sample)}` : `${sample.at.unit} ${sample.at.count}`;

const folderOf = (sample: Sample | undefined): string =>
  sample?.file.key.split('/').slice(0, -1).join('/') ?? '';

/** Returns samples of the same prompt at other steps, sorted by step. */
export function comparable(sample: Sample, samples: readonly Sample[]): readonly Sample[] {
  if (sample.at === null) return [];
  return samples
    .filter(
      ({ series, at, kind, file }) =>
        series === sample.series && at !== null && kind === sample.kind && file.key !== sample.file.key,
    )
    .toSorted((a, b) => (a.at?.count ?? 0) - (b.at?.count ?? 0));
}

/** Matches the size at the end of a name: "_1024x1024". */
const imageSize = /[-_.]\d{2,5}x\d{2,5}$/;

/** Returns the prompt in a file name, such as "red rose" for `step_500_red_rose_1024x1024.png`; null if there is none. */
export function promptName({ file }: Pick<Sample, 'file'>): string | null {
  const text = readSampleName(file.key).prompt?.replace(imageSize, '').replaceAll(/[-_]+/g, ' ').trim();
  return text !== undefined && /\p{L}/u.test(text) ? text : null;
}

/**
 * Puts the manifest first. A checkpoint without its manifest is invalid, so an interrupted deletion cannot leave a
 * checkpoint that looks complete.
 */
export const sortForDeletion = (files: readonly ArtifactView[]): readonly ArtifactView[] =>
  files.toSorted((a, b) => Number(isManifest(b)) - Number(isManifest(a)));

const isManifest = ({ key }: ArtifactView): boolean => key.split('/').at(-1) === manifestName;

/** The step or epoch in the name of a sample. */
interface TrainingPosition {
  readonly unit: 'step' | 'epoch';
  readonly count: number;
}

interface PositionedName {
  readonly at: TrainingPosition | null;
  /** Equal for samples of the same prompt at different steps. */
  readonly series: string;
}

/** Returns the step or epoch that the name of a file contains, and its series. @internal */
export function readPosition(key: string): PositionedName {
  const { step, epoch, series } = readSampleName(key);
  if (step !== null) return { at: { unit: 'step', count: step }, series };
  return { at: epoch === null ? null : { unit: 'epoch', count: epoch }, series };
}

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
