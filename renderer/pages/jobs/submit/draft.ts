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

/** A config of the folder, as it was when it was read. */
export interface Base {
  readonly name: string;
  readonly etag: string | null;
  readonly config: TrainerConfig;
}

/** The contents of the form. Numbers are text, because a partly typed number may be invalid. */
export interface Draft {
  readonly source: 'name' | 'inline';
  readonly configName: string;
  readonly config: string;
  /** The dataloader of an inline config; null when it has none. */
  readonly dataloader: unknown;
  /** The folder's config that the user is editing inline; null when the config was written from scratch. */
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
  /** Failures to retry. The form does not show them, but a copied job keeps them. */
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

/** The name that the server gives to a config submitted without a name. */
const inlineName = 'inline';

/** Returns true when the config was submitted under a name. The folder may contain a config of that name. */
export const isNamed = ({ config_name: name }: Pick<JobView, 'config_name'>): boolean => name !== inlineName;

/** The config of a job, and the folder's current config of the same name. Each is null when it cannot be read. */
export interface Origins {
  readonly own: Training | null;
  readonly inFolder: (Training & { readonly etag: string | null }) | null;
}

/** Returns the form contents that submit the job again with the same settings. */
export function toDraft(job: JobView, origins: Origins): Draft {
  return {
    ...emptyDraft,
    ...toConfigDraft(job.config_name, origins),
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

/**
 * Refers to the config by its name if the folder's config is still the same; otherwise copies the job's own config into
 * the form.
 */
function toConfigDraft(name: string, { own, inFolder }: Origins): Partial<Draft> {
  const shown = name === inlineName ? '' : name;
  if (own === null) return { source: shown === '' ? 'inline' : 'name', configName: shown };
  if (inFolder !== null) {
    const { etag, config: base } = inFolder;
    const relation = compareWithFolder(own, inFolder);
    if (relation !== 'other')
      return { source: 'name', configName: name, takesAnyGpu: relation === 'any GPUs' };
    return { ...toInlineDraft(own), configName: name, base: { name, etag, config: base } };
  }
  return { ...toInlineDraft(own), configName: shown };
}

/**
 * Compares the job's config with the folder's current one. `any GPUs`: they differ only in the device list, which the
 * server removed because the job takes any GPUs.
 */
export function compareWithFolder(own: Training, now: Training): 'same' | 'any GPUs' | 'other' {
  const isEqualTo = (config: TrainerConfig): boolean =>
    isSame([own.config, own.dataloader], [config, now.dataloader]);
  if (isEqualTo(now.config)) return 'same';
  return isEqualTo(withoutDevices(now.config)) ? 'any GPUs' : 'other';
}

/** Returns the form contents for editing this config inline. */
export const toInlineDraft = ({
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
