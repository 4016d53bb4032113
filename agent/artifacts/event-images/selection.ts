import type { ImageEnding, LoggedImage } from './decode.ts';
import { type ImageName, nameImage, parseImagePath, pathOf } from './names.ts';

export interface Candidate extends LoggedImage {
  readonly folder: string;
  readonly step: number;
}

export interface ChosenImage {
  /** Relative to the folder of images. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface Choice {
  readonly images: readonly ChosenImage[];
  /** Reasons why images were skipped, as text for people. Contains only problems that the user can fix. */
  readonly flaws: readonly string[];
}

/** Decides which images of event files become files, within the limits of one attempt. */
export interface Selection {
  isFull(): boolean;
  /** Chooses among the images of a file, in their order, and counts the chosen ones against the limits. */
  choose(candidates: readonly Candidate[]): Choice;
}

const mib = 1024 * 1024;
export const limits = {
  imageBytes: 16 * mib,
  /** The maximum number of images of one attempt, and their maximum total size in bytes. */
  images: 2_000,
  bytes: 2 * 1024 * mib,
  /** The maximum number of images of one tag in one read. The newest are kept. */
  perRead: 64,
  /** After this many steps of a tag, a step is kept only if it is at least `growth` times the last kept step. */
  steps: 200,
  growth: 1.02,
} as const;

const tooLarge = `event files contain images larger than ${limits.imageBytes / mib} MiB`;
/** Reported when the attempt has reached its limit of images. */
export const noMore = `this attempt has reached the limit of ${limits.images} images or ${limits.bytes / mib} MiB from event files`;

interface Series {
  readonly lastStep: number;
  readonly steps: number;
}

/** `existing`: the images that an earlier process of the worker wrote for this attempt. */
export function createSelection(existing: Iterable<readonly [path: string, bytes: number]>): Selection {
  const series = new Map<string, Series>();
  const stems = new Set<string>();
  let bytes = 0;

  const note = ({ stem, series: name, step }: ImageName, size: number): void => {
    const entry = series.get(name);
    const isNewStep = step !== entry?.lastStep;
    stems.add(stem);
    series.set(name, { lastStep: step, steps: (entry?.steps ?? 0) + (isNewStep ? 1 : 0) });
    bytes += size;
  };
  const isDue = ({ stem, series: name, step }: ImageName): boolean => {
    if (stems.has(stem)) return false;
    const entry = series.get(name);
    if (entry === undefined || step === entry.lastStep) return true;
    return step > entry.lastStep && (entry.steps < limits.steps || step >= entry.lastStep * limits.growth);
  };
  const isFull = (): boolean => stems.size >= limits.images || bytes >= limits.bytes;

  const existingImages = [...existing].flatMap(([path, size]) => {
    const name = parseImagePath(path);
    return name === null ? [] : [{ name, size }];
  });
  for (const { name, size } of existingImages.toSorted((a, b) => a.name.step - b.name.step)) note(name, size);

  return {
    isFull,
    choose(candidates) {
      const flaws = new Set<string>();
      const images: ChosenImage[] = [];
      for (const { name, ending, bytes: content } of newestOf(candidates)) {
        if (!isDue(name) || isFull()) continue;
        if (content.length > limits.imageBytes) flaws.add(tooLarge);
        else {
          note(name, content.length);
          images.push({ path: pathOf(name, ending), bytes: content });
        }
      }
      return { images, flaws: [...flaws] };
    },
  };
}

interface Named {
  readonly name: ImageName;
  readonly ending: ImageEnding;
  readonly bytes: Uint8Array;
}

/** Keeps the newest images of each tag. This limits the cost of one read if the trainer logs an image at each step. */
function newestOf(candidates: readonly Candidate[]): readonly Named[] {
  const counts = new Map<string, number>();
  return candidates
    .map(candidate => ({ name: nameImage(candidate), ending: candidate.ending, bytes: candidate.bytes }))
    .toReversed()
    .filter(({ name: { series } }) => {
      const count = (counts.get(series) ?? 0) + 1;
      counts.set(series, count);
      return count <= limits.perRead;
    })
    .toReversed();
}
