import type { JobId } from '../../../protocol/ids.ts';
import type { TrainerConfig } from '../../../protocol/job.ts';
import { restrictedUses } from '../../../protocol/config-policy.ts';
import type { JobData } from '../../../protocol/dataset.ts';
import { isResumable, namesIn, resumeKey } from '../../../protocol/job-inputs.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { type Bundle, isBuiltIn, likenessOf, trainerFor } from '../../../trainers/index.ts';
import type { SubmitRequest } from '../../../protocol/queue-api.ts';
import { requestKinds, requestsOf } from '../../../protocol/requests.ts';
import type { Dependencies, JobPayload, JobSpec } from '../model.ts';
import type { Configs } from '../ports/index.ts';

/** A job before it is stored. */
export interface Draft {
  readonly spec: JobSpec;
  readonly payload: JobPayload;
  readonly priority: number;
  readonly requiresApproval: boolean;
  readonly noWait: boolean;
  readonly retryOf: JobId | null;
  readonly retryRoot: JobId | null;
  /** Notes of the submitter; null for none. */
  readonly notes: string | null;
}

/** A draft with dependencies. The transaction that stores the job has checked its parents. */
export interface BoundDraft extends Draft {
  readonly dependencies: Dependencies | null;
}

/** Builds the draft from the request and its config. Returns a promise only if the config must be loaded. */
export function prepare(configs: Configs, request: SubmitRequest): Outcome<Draft> | Promise<Outcome<Draft>> {
  const draft = (bundle: Outcome<Bundle>): Outcome<Draft> =>
    bundle.ok ? draftOf(request, bundle.value) : bundle;
  const bundle = bundleOf(configs, request);
  return bundle instanceof Promise ? bundle.then(draft) : draft(bundle);
}

/** Returns the config in the request, or loads the config that the request names. */
export const bundleOf = (
  configs: Configs,
  { config, dataloader = null, files = {}, config_name: name = '' }: SubmitRequest,
): Outcome<Bundle> | Promise<Outcome<Bundle>> =>
  config === undefined ? configs.load(name) : accept({ config, dataloader, files });

/** Builds the draft of a job with this config. Refuses a config that its trainer cannot use. */
export function draftOf(request: SubmitRequest, { config, dataloader, files }: Bundle): Outcome<Draft> {
  const trainer = trainerFor(config);
  const problem = trainer.problem(config);
  if (problem !== null) return refuse('config_invalid', `The config cannot be used: ${problem}`);
  const gpus = gpusWanted(request, config);
  if (!gpus.ok) return gpus;
  const requests = requestsOf(config);
  if (!requests.ok) return refuse('config_invalid', requests.reason);
  const { inputs = [] } = request;
  const unknown = namesIn([config, dataloader]).find(name => !inputs.some(input => input.name === name));
  if (unknown !== undefined)
    return refuse(
      'config_invalid',
      `The config has {{inputs.${unknown}}}, and the job has no input with this name`,
    );
  if (config[resumeKey] !== undefined && !isResumable(config[resumeKey]))
    return refuse(
      'config_invalid',
      `${resumeKey} in the config must be an input of the job, such as {{inputs.base}}`,
    );
  const nodes = request.num_nodes ?? 1;
  const likeness = likenessOf(trainer.name, config, gpus.value.count * nodes);
  const spec: JobSpec = {
    configName: request.config_name ?? 'inline',
    about: {
      name: request.name ?? null,
      tags: request.tags ?? [],
      group: request.group ?? null,
      sweep: null,
      template: null,
    },
    requirements: {
      target: request.target,
      ...(nodes > 1 && { nodes }),
      gpuCount: gpus.value.count,
      ...usedOf(gpus.value),
      vramGb: request.gpu_vram_gb,
      accelerator: request.accelerator ?? null,
      guarded: request.on_lost_contact === 'stop',
      configKeys: restrictedUses(config, dataloader).map(({ key }) => key),
      ...(!isBuiltIn(config) && { trainer: trainer.name }),
      ...(inputs.length > 0 && { inputs: true }),
      labels: request.worker_labels,
    },
    devices: gpus.value.devices,
    maxRetries: request.max_retries,
    retryOn: request.retry_on,
    onLostContact: request.on_lost_contact,
    timeoutMs: request.timeout_s === undefined ? null : Math.round(request.timeout_s * 1000),
    requests: requestKinds.filter(
      kind => requests.value[kind] !== undefined || (!isBuiltIn(config) && trainer.requests?.includes(kind)),
    ),
    ...(likeness !== null && { likeness }),
  };
  return accept({
    spec,
    payload: { config: request.any_gpu ? withoutDevices(config) : config, dataloader, files },
    priority: request.priority,
    requiresApproval: request.requires_approval,
    noWait: request.no_wait,
    retryOf: null,
    retryRoot: null,
    notes: request.notes?.trim() ? request.notes : null,
  });
}

const usedOf = ({ count, devices }: GpusWanted): Pick<JobSpec['requirements'], 'gpusUsed'> => {
  const used = new Set(devices).size;
  return devices === null || used === count ? {} : { gpusUsed: used };
};

/** Reads a key in either spelling, `name` or `--name`, as in SimpleTuner's configs. */
const read = (config: TrainerConfig, name: string): unknown => config[name] ?? config[`--${name}`];

const devicesKey = 'accelerate_visible_devices';
const maxGpus = 1024;

interface GpusWanted {
  readonly count: number;
  readonly devices: readonly number[] | null;
}

/**
 * Returns the number of GPUs that a job needs: `gpu_count` of the request, else `num_processes` of the config, else the
 * trainer's default. If the config names GPUs, the worker must have those, unless `any_gpu` is set. Refuses malformed
 * values in the config.
 */
export function gpusWanted(
  request: Pick<SubmitRequest, 'gpu_count' | 'any_gpu'>,
  config: TrainerConfig,
): Outcome<GpusWanted> {
  const count =
    request.gpu_count ??
    wholeNumber(read(config, 'num_processes') ?? (isBuiltIn(config) ? 0 : trainerFor(config).defaultGpus));
  if (count === null) {
    return refuse(
      'config_invalid',
      `num_processes in the config must be a whole number from 0 to ${maxGpus}`,
    );
  }
  const devicesInConfig = request.any_gpu ? null : (read(config, devicesKey) ?? null);
  if (devicesInConfig === null) return accept({ count, devices: null });
  const devices = Array.isArray(devicesInConfig) ? devicesInConfig : [devicesInConfig];
  const valid = devices.map(wholeNumber).filter(device => device !== null);
  if (valid.length < devices.length || valid.length === 0) {
    return refuse(
      'config_invalid',
      `${devicesKey} in the config must be a list of GPU numbers, such as [0, 1]`,
    );
  }
  return accept({ count: Math.max(count, ...valid.map(device => device + 1)), devices: valid });
}

function wholeNumber(value: unknown): number | null {
  const count = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= maxGpus
    ? count
    : null;
}

const withoutDevices = (config: TrainerConfig): TrainerConfig =>
  Object.fromEntries(
    Object.entries(config).filter(([key]) => key !== devicesKey && key !== `--${devicesKey}`),
  );

/** Returns the draft with the name of its template. `template`: null for none. */
export const fromTemplate = (draft: Draft, template: string | null): Draft => ({
  ...draft,
  spec: { ...draft.spec, about: { ...draft.spec.about, template } },
});

/** Returns the draft with datasets that the worker fetches before it starts the trainer. */
export const withData = ({ spec, payload, ...draft }: Draft, data: readonly JobData[]): Draft => ({
  ...draft,
  spec: {
    ...spec,
    requirements: { ...spec.requirements, data: [...new Set(data.map(({ version }) => version))] },
  },
  payload: { ...payload, data },
});
