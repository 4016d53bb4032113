/** The step or epoch of a sample, as its name states. */
export interface Moment {
  readonly unit: 'step' | 'epoch';
  readonly count: number;
}

export interface Named {
  readonly at: Moment | null;
  /** The same for samples of one prompt at several steps. */
  readonly series: string;
}

/** Naming schemes of trainers. The groups `step` and `epoch` hold the position; `time` is the other part that differs within a series. */
const trainers: readonly RegExp[] = [
  // kohya's sd-scripts: NAME_000250_00_20240101123456_42.png, NAME_e000010_01_20240101123456.png; NAME_ is optional
  /(?:^|_)(?:e(?<epoch>\d{6})|(?<step>\d{6,}))_\d{2,}_(?<time>\d{14})(?=[_.])/,
  // ai-toolkit: 1713012345678__000000250_0.jpg
  /^(?<time>\d{10,13})__(?<step>\d{9,})(?=_\d+\.)/,
  // OneTrainer: 2024-01-01_12-34-56-training-sample-250-1-50.jpg, after a prefix from its settings
  /(?<time>\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2})-training-sample-(?<step>\d+)-(?<rest>\d+-\d+)(?=[-.])/,
];

/** SimpleTuner: step_500_prompt_1024x1024.png; folders of many trainers: step-500, epoch_3, checkpoint-0200. */
const counted =
  /(?:^|[-_.])(?:(?:checkpoint|ckpt|step)s?[-_=]?(?<step>\d{1,12})|epochs?[-_=]?(?<epoch>\d{1,12}))(?=$|[-_.])/i;

/** The digits example: sample-000938.png. A short number is that of a prompt. */
const padded = /^samples?[-_](?<step>\d{4,12})(?=[-_.])/i;

/** Reads the step or epoch from a path. The file's own name takes precedence, then the innermost folder. */
export function readMoment(key: string): Named {
  const segments = key.split('/');
  const last = segments.length - 1;
  const file = segments[last] ?? key;
  const own = [...trainers].map(name => name.exec(file)).find(found => found !== null);
  const place = own === undefined ? segments.findLastIndex(segment => counted.test(segment)) : last;
  const found = own ?? counted.exec(segments[place] ?? '');
  if (found !== null && found !== undefined) return named(segments, place, found);
  const plain = padded.exec(file);
  return plain === null ? { at: null, series: key } : named(segments, last, plain);
}

function named(
  segments: readonly string[],
  place: number,
  { 0: match, groups = {} }: RegExpExecArray,
): Named {
  const { epoch, step = '' } = groups;
  const varying = Object.values(groups).filter(text => text !== undefined);
  const series = varying.reduce((text, part) => text.replace(part, '*'), match);
  return {
    at: epoch === undefined ? { unit: 'step', count: Number(step) } : { unit: 'epoch', count: Number(epoch) },
    series: segments
      .map((segment, index) => (index === place ? segment.replace(match, series) : segment))
      .join('/'),
  };
}
