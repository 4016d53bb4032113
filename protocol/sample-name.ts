/** Facts about a sample that its file name contains. */
export interface SampleName {
  /** Number of completed steps; null when the name does not contain it. */
  readonly step: number | null;
  /** Number of completed epochs; null when the name does not contain it. */
  readonly epoch: number | null;
  /** Position of the prompt in the config, starting at 0; null when the name does not contain it. */
  readonly promptIndex: number | null;
  /** Text or short name of the prompt; null when the name does not contain it. */
  readonly prompt: string | null;
  /** Equal for all samples of a job with the same prompt and the same variant (resolution or image), at every step. */
  readonly series: string;
}

/**
 * Names of samples by trainer. The groups `step`, `epoch`, `time` and `rest` differ between samples of one prompt; `index`,
 * `text`, `variant` and `size` describe the prompt.
 */
const conventions: readonly RegExp[] = [
  // kohya-ss/sd-scripts, library/train_util.py, sample_image_inference: NAME_000250_00_20240101123456_42.png,
  // NAME_e000010_01_20240101123456.png; `NAME_` and the seed at the end are optional.
  /(?:^|[/_])(?:e(?<epoch>\d{6,12})|(?<step>\d{6,12}))_(?<index>\d{2,4})_(?<time>\d{14})(?=[_.])[^/]*$/d,
  // ostris/ai-toolkit, jobs/process/BaseSDTrainProcess.py, sample: 1713012345678__000000250_0.jpg; with several GPUs
  // rank01_sample003_1713012345678__000000250_0.jpg. The last number there counts the samples of one GPU.
  /(?:^|\/)rank(?<rest>\d{2})_sample(?<index>\d{3,4})_(?<time>\d{10,13})__(?<step>\d{9,12})_\d+\.[^/]*$/d,
  /(?:^|\/)(?<time>\d{10,13})__(?<step>\d{9,12})_(?<index>\d{1,4})\.[^/]*$/d,
  // Nerogar/OneTrainer, modules/trainer/GenericTrainer.py: samples/0 - a cat/2024-01-01_12-34-56-training-sample-250-1-50.jpg,
  // with steps, epochs and steps of the epoch. The trainer's settings can add a prefix before the time.
  /(?:(?:^|\/)(?<index>\d{1,4}) - (?<text>[^/]*)\/)?[^/]*(?<time>\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2})-training-sample-(?<step>\d{1,12})-(?<rest>\d+-\d+)(?=[-.])[^/]*$/d,
  // Images in TensorBoard's event files, which the worker stores as files (agent/artifacts/event-images/names.ts).
  /^tensorboard-images\/(?:[^/]*\/)?step_(?<step>\d{1,12})_(?<text>[^/]+)_(?<variant>\d+)\.[^/]*$/d,
  // bghira/SimpleTuner, helpers/training/validation.py: step_500_cat_0_1024x1024.png, with the short name of the prompt and
  // the index of the resolution. Older versions omit that index.
  /(?:^|\/)step_(?<step>\d{1,12})_(?<text>[^/]+)_(?<variant>\d{1,3})_(?<size>\d+x\d+)\.[^/]*$/d,
];

/** Steps and epochs in other names, such as step-500.png, and in folders such as epoch_3 or checkpoint-0200. */
const counted =
  /(?:^|[-_.])(?:(?:checkpoint|ckpt|step)s?[-_=]?(?<step>\d{1,12})|epochs?[-_=]?(?<epoch>\d{1,12}))(?=$|[-_.])/di;

/** Matches names such as sample-000938.png (examples/digits). Numbers with fewer than four digits count prompts, not steps. */
const padded = /^samples?[-_](?<step>\d{4,12})(?=[-_.])/di;

/** Groups that differ between samples of one prompt. */
const varyingGroups: readonly string[] = ['step', 'epoch', 'time', 'rest'];

/**
 * Parses the step and the prompt of a sample from its key, by the conventions of trainers. If several parts of the key
 * contain a step, the file name takes precedence over folders, and inner folders over outer folders.
 */
export function readSampleName(key: string): SampleName {
  for (const convention of conventions) {
    const match = convention.exec(key);
    if (match !== null)
      return { ...countsIn(match), ...promptIn(match), series: withoutVarying(key, match, 0) };
  }
  const file = key.slice(key.lastIndexOf('/') + 1);
  const counts = findCounted(key) ?? findPadded(key, file);
  if (counts === null) return { step: null, epoch: null, promptIndex: null, prompt: null, series: key };
  const { match, start } = counts;
  const isInFile = start === key.length - file.length;
  return {
    ...countsIn(match),
    promptIndex: null,
    prompt: remainderOf(isInFile ? file.replace(match[0], '') : file),
    series: withoutVarying(key, match, start),
  };
}

interface CountMatch {
  readonly match: RegExpExecArray;
  /** Position of the matched segment in the key. */
  readonly start: number;
}

/** Finds a step or epoch in the innermost segment that has one. */
function findCounted(key: string): CountMatch | null {
  let last: CountMatch | null = null;
  let start = 0;
  for (const segment of key.split('/')) {
    const match = counted.exec(segment);
    if (match !== null) last = { match, start };
    start += segment.length + 1;
  }
  return last;
}

function findPadded(key: string, file: string): CountMatch | null {
  const match = padded.exec(file);
  return match === null ? null : { match, start: key.length - file.length };
}

function countsIn({ groups = {} }: RegExpExecArray): Pick<SampleName, 'step' | 'epoch'> {
  const { step, epoch } = groups;
  return { step: toNumber(step), epoch: toNumber(epoch) };
}

const toNumber = (digits: string | undefined): number | null =>
  digits === undefined ? null : Number(digits);

/**
 * Returns the prompt of a sample. A sample's variant is the index of its resolution or image. For the first variant, returns
 * the text of the prompt alone; for the others, appends the size or number in brackets. So the first variants of two jobs
 * match even when their resolutions differ.
 */
function promptIn({ groups = {} }: RegExpExecArray): Pick<SampleName, 'prompt' | 'promptIndex'> {
  const { index, text, variant, size } = groups;
  const promptIndex = toNumber(index);
  if (text === undefined) return { promptIndex, prompt: null };
  const isFirst = variant === undefined || Number(variant) === 0;
  return { promptIndex, prompt: isFirst ? text : `${text} (${size ?? Number(variant) + 1})` };
}

/** Returns a file name without its extension and outer separators; null when nothing is left. */
function remainderOf(name: string): string | null {
  const text = name.replace(/\.[^.]*$/, '').replace(/^[-_. ]+|[-_. ]+$/g, '');
  return text === '' ? null : text;
}

/** Replaces the groups that differ between samples of one prompt by `*`. `start`: the position of the matched text in the key. */
function withoutVarying(key: string, { indices }: RegExpExecArray, start: number): string {
  const varying = Object.entries({ ...indices?.groups }).filter(([name]) => varyingGroups.includes(name));
  const spans = varying.flatMap(([, span]) => (span === undefined ? [] : [span]));
  return spans
    .toSorted(([a], [b]) => b - a)
    .reduce((text, [from, to]) => `${text.slice(0, start + from)}*${text.slice(start + to)}`, key);
}
