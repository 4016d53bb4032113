import type { JobId } from '../../../../protocol/ids.ts';
import {
  type FailureCause,
  type JobDetail,
  type JobView,
  type OnLostContact,
  priorities,
  type Target,
  type TrainerConfig,
} from '../../../../protocol/job.ts';
import type { AfterOn } from '../../../../protocol/job-dependencies.ts';
import type { ConfigFormat } from '../../../../trainers/index.ts';
import { isSame } from './config-parts.tsx';

export interface LabelRow {
  /** Local id of the row, so that React keeps its input field when other rows are removed. */
  readonly id: number;
  readonly key: string;
  readonly pattern: string;
}

/** A config and its dataloader. */
export interface Training {
  readonly config: TrainerConfig;
  /** Null when the config needs no dataloader. */
  readonly dataloader: unknown;
}

export type TextFormat = ConfigFormat;

/** A config with its text, and the other files that are submitted with the config. */
export interface WrittenTraining extends Training {
  readonly text: string;
  readonly format: TextFormat;
  readonly files: Readonly<Record<string, string>>;
}

/** A config in the server's configs folder, with its ETag for conflict detection. */
export interface FolderTraining extends WrittenTraining {
  readonly etag: string | null;
}

/** The config that the user started from: a config in the folder, or the config of another job. */
export interface Base extends Pick<FolderTraining, 'text' | 'config' | 'dataloader' | 'etag'> {
  readonly origin: 'folder' | 'job';
  readonly name: string;
}

/** A stored dataset that replaces a path of the config. */
export interface DataChoice {
  readonly path: string;
  readonly version: string;
  readonly is_file: boolean;
}

/** An input: a file that a parent job produces. */
export interface InputRow {
  /** Local id of the row, so that React keeps its input fields when other rows are removed. */
  readonly id: number;
  readonly from: JobId;
  readonly name: string;
  readonly kind: InputKind;
  /** The file in the notation of the API; used only for the kind `path`. */
  readonly path: string;
}

export const inputKinds = ['result', 'best', 'newest', 'stateNewest', 'stateBest', 'path'] as const;
export type InputKind = (typeof inputKinds)[number];

const fileTexts = {
  result: 'result',
  best: 'checkpoint best',
  newest: 'checkpoint newest',
  stateNewest: 'state newest',
  stateBest: 'state best',
} as const;

/** Returns the file of an input in the notation of the API. */
export const fileOf = ({ kind, path }: Pick<InputRow, 'kind' | 'path'>): string =>
  kind === 'path' ? path.trim() : fileTexts[kind];

/** Reverses `fileOf`. */
function kindIn(file: string): Pick<InputRow, 'kind' | 'path'> {
  for (const kind of inputKinds) if (kind !== 'path' && fileTexts[kind] === file) return { kind, path: '' };
  return { kind: 'path', path: file };
}

/** The contents of the form. Numbers are text, because a partly typed number may be invalid. */
export interface Draft {
  readonly configName: string;
  /** The text of the config. If empty, the job uses the config named `configName` in the folder. */
  readonly config: string;
  readonly format: TextFormat;
  /** The dataloader of the config; null if the config has none. */
  readonly dataloader: unknown;
  readonly files: Readonly<Record<string, string>>;
  readonly base: Base | null;
  readonly data: readonly DataChoice[];
  readonly name: string;
  readonly group: string;
  readonly tags: string;
  readonly notes: string;
  /** Jobs that must end before this job starts. A copy of a job keeps only the jobs that provide its input files. */
  readonly after: readonly JobId[];
  readonly inputs: readonly InputRow[];
  readonly afterOn: AfterOn;
  readonly target: Target;
  readonly labels: readonly LabelRow[];
  readonly nodes: string;
  readonly gpus: string;
  readonly vramGb: string;
  readonly accelerator: string;
  readonly priority: number;
  readonly retries: string;
  readonly timeoutHours: string;
  readonly onLostContact: OnLostContact;
  readonly needsApproval: boolean;
  readonly isNowOrNever: boolean;
  readonly takesAnyGpu: boolean;
  /** Failures to retry. The form does not show this list, but a copy of a job keeps it. */
  readonly retryOn: readonly FailureCause[];
  /** The template that the form started from; empty for none. */
  readonly template: string;
}

export const emptyDraft: Draft = {
  configName: '',
  config: '',
  format: 'json',
  dataloader: null,
  files: {},
  base: null,
  data: [],
  name: '',
  group: '',
  tags: '',
  notes: '',
  after: [],
  inputs: [],
  afterOn: 'success',
  target: 'auto',
  labels: [],
  nodes: '',
  gpus: '',
  vramGb: '',
  accelerator: '',
  priority: priorities.normal,
  retries: '3',
  timeoutHours: '',
  onLostContact: 'continue',
  needsApproval: false,
  isNowOrNever: false,
  takesAnyGpu: false,
  retryOn: [],
  template: '',
};

/** The name that the server gives to a config submitted without a name. */
const inlineName = 'inline';

/** Returns true if the config was submitted with a name, so that the folder may contain a config with the same name. */
export const isNamed = ({ config_name: name }: Pick<JobView, 'config_name'>): boolean => name !== inlineName;

/** The config of a job, and the folder's current config of the same name. Each is null if its read failed. */
export interface Origins {
  readonly own: (Training & { readonly files?: Readonly<Record<string, string>> }) | null;
  readonly inFolder: FolderTraining | null;
}

type CopiedJob = JobView & Partial<Pick<JobDetail, 'data' | 'inputs' | 'notes'>>;

/** Returns form contents that would submit the job again with the same settings. */
export function toDraft(job: CopiedJob, origins: Origins): Draft {
  const inputs = (job.inputs ?? []).filter(({ job_name: name }) => name !== null);
  return {
    ...emptyDraft,
    ...toConfigDraft(job.config_name, origins),
    after: [...new Set(inputs.map(({ job_id: from }) => from))],
    inputs: inputs.map(({ name, job_id: from, file }, id) => ({ id, name, from, ...kindIn(file) })),
    data: (job.data ?? []).flatMap(({ dataset, path, version, is_file }) =>
      dataset === null ? [] : [{ path, version, is_file }],
    ),
    group: job.group ?? '',
    tags: job.tags.join(' '),
    target: job.target,
    labels: Object.entries(job.worker_labels).map(([key, pattern], id) => ({ id, key, pattern })),
    nodes: job.num_nodes === 1 ? '' : String(job.num_nodes),
    gpus: String(job.gpu_count),
    vramGb: job.gpu_vram_gb === 0 ? '' : String(job.gpu_vram_gb),
    accelerator: job.accelerator ?? '',
    priority: job.priority,
    retries: String(job.max_attempts - 1),
    timeoutHours: job.timeout_s === null ? '' : String(job.timeout_s / 3600),
    onLostContact: job.on_lost_contact,
    needsApproval: job.approval !== null,
    retryOn: job.retry_on,
  };
}

/** Uses the folder's config if it still equals the config of the job. Otherwise, copies the config of the job. */
function toConfigDraft(name: string, { own, inFolder }: Origins): Partial<Draft> {
  const shown = name === inlineName ? '' : name;
  if (own === null) return { configName: shown };
  const relation = inFolder === null ? 'other' : compareWithFolder(own, inFolder);
  if (inFolder !== null && relation !== 'other')
    return { ...fromFolder(name, inFolder), takesAnyGpu: relation === 'any GPUs' };
  const text = JSON.stringify(own.config, null, 2);
  const { config, dataloader, files = {} } = own;
  return {
    configName: shown,
    config: text,
    format: 'json',
    dataloader,
    files,
    base: { origin: 'job', name: shown === '' ? name : shown, etag: null, text, config, dataloader },
  };
}

/** Returns form contents for a config in the folder. */
export const fromFolder = (
  name: string,
  { text, format, config, dataloader, files, etag }: FolderTraining,
): Pick<Draft, 'configName' | 'config' | 'format' | 'dataloader' | 'files' | 'base'> => ({
  configName: name,
  config: text,
  format,
  dataloader,
  files,
  base: { origin: 'folder', name, etag, text, config, dataloader },
});

/** Returns true if the form contains an unchanged config of the folder, so that the request can name that config. */
export const isFolderConfig = ({ base, config, configName, dataloader }: Draft): boolean =>
  base?.origin === 'folder' &&
  base.name === configName.trim() &&
  base.text === config &&
  isSame(base.dataloader, dataloader);

/** Returns true if another config may replace the text of the form, because the user has not changed the text. */
export const isReplaceable = ({ base, config }: Draft): boolean =>
  config.trim() === '' || (base !== null && base.text === config);

/**
 * Compares the job's config with the folder's current config. `any GPUs`: the configs differ only in the device list,
 * which the server removed because the job takes any GPUs.
 */
export function compareWithFolder(submitted: Training, inFolder: Training): 'same' | 'any GPUs' | 'other' {
  const isEqualTo = (config: TrainerConfig): boolean =>
    isSame([submitted.config, submitted.dataloader], [config, inFolder.dataloader]);
  if (isEqualTo(inFolder.config)) return 'same';
  return isEqualTo(withoutDevices(inFolder.config)) ? 'any GPUs' : 'other';
}

const withoutDevices = (config: TrainerConfig): TrainerConfig =>
  Object.fromEntries(
    Object.entries(config).filter(([name]) => !/^(--)?accelerate_visible_devices$/.test(name)),
  );
