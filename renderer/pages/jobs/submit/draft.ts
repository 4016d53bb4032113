import {
  type FailureCause,
  type JobView,
  type OnLostContact,
  priorities,
  type Target,
  type TrainerConfig,
} from '../../../../protocol/job.ts';
import { isSame } from './config-parts.tsx';

export interface LabelRow {
  /** Local id, so that a row keeps its input field when others are removed. */
  readonly id: number;
  readonly key: string;
  readonly pattern: string;
}

/** The input of a trainer. */
export interface Training {
  readonly config: TrainerConfig;
  /** Null for none. */
  readonly dataloader: unknown;
}

/** A config of the folder, as it was when loaded. */
export interface Base {
  readonly name: string;
  readonly etag: string | null;
  readonly config: TrainerConfig;
}

/** The form's state. Numbers are text, because partial input is not a number. */
export interface Draft {
  readonly source: 'name' | 'inline';
  readonly configName: string;
  readonly config: string;
  /** The dataloader of an inline config; null for none. */
  readonly dataloader: unknown;
  /** The config that the inline config started from. */
  readonly base: Base | null;
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
  /** Not in the form; a resubmitted job keeps them. */
  readonly retryOn: readonly FailureCause[];
}

export const emptyDraft: Draft = {
  source: 'name',
  configName: '',
  config: '',
  dataloader: null,
  base: null,
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
};

/** The server's name for a config without a name. */
const inlineName = 'inline';

/** Returns true when the job's config has a name, which may refer to the folder. */
export const isNamed = ({ config_name: name }: Pick<JobView, 'config_name'>): boolean => name !== inlineName;

/** The config that the job had, and the current config of that name in the folder. Null for one that cannot be read. */
export interface Origins {
  readonly own: Training | null;
  readonly inFolder: (Training & { readonly etag: string | null }) | null;
}

/** Returns a draft that repeats the job with all its settings. */
export function toDraft(job: JobView, origins: Origins): Draft {
  return {
    ...emptyDraft,
    ...configOf(job.config_name, origins),
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

/** Uses the config's name only while it still means the job's config; otherwise uses the job's own copy. */
function configOf(name: string, { own, inFolder }: Origins): Partial<Draft> {
  const shown = name === inlineName ? '' : name;
  if (own === null) return { source: shown === '' ? 'inline' : 'name', configName: shown };
  if (inFolder !== null) {
    const { etag, config: base } = inFolder;
    const relation = compareWithFolder(own, inFolder);
    if (relation !== 'other')
      return { source: 'name', configName: name, takesAnyGpu: relation === 'any GPUs' };
    return { ...written(own), configName: name, base: { name, etag, config: base } };
  }
  return { ...written(own), configName: shown };
}

/** Compares the job's config with the current one of that name. For a job on any GPUs, the server removes the device list. */
export function compareWithFolder(own: Training, now: Training): 'same' | 'any GPUs' | 'other' {
  const isOf = (config: TrainerConfig): boolean =>
    isSame([own.config, own.dataloader], [config, now.dataloader]);
  if (isOf(now.config)) return 'same';
  return isOf(withoutDevices(now.config)) ? 'any GPUs' : 'other';
}

/** Returns an inline config to edit in the form. */
export const written = ({
  config,
  dataloader,
}: Training): Pick<Draft, 'source' | 'config' | 'dataloader'> => ({
  source: 'inline',
  config: JSON.stringify(config, null, 2),
  dataloader,
});

const withoutDevices = (config: TrainerConfig): TrainerConfig =>
  Object.fromEntries(
    Object.entries(config).filter(([name]) => !/^(--)?accelerate_visible_devices$/.test(name)),
  );
