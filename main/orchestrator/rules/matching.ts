import type { Requirements } from '../../../protocol/job.ts';
import { trainerNamed } from '../../../trainers/index.ts';
import type { Offering } from '../model.ts';
import { run, compilePattern } from './label-pattern.ts';
import type { Labels } from '../../../protocol/text.ts';

/** A requirement that a worker does not meet: the value that the job requires, and the value that the worker offers. */
export interface Mismatch {
  readonly code:
    | 'target'
    | 'nodes'
    | 'gpu_count'
    | 'gpu_limit'
    | 'vram'
    | 'accelerator'
    | 'guard'
    | 'config_key'
    | 'trainer'
    | 'data'
    | 'inputs'
    | 'label';
  readonly wanted: string;
  readonly offered: string;
}

/** Returns all mismatches of a worker; empty when the worker fits. */
export type Matcher = (offering: Offering) => readonly Mismatch[];

const usedGpus = ({ gpusUsed, gpuCount }: Requirements): number => gpusUsed ?? gpuCount;

const nodesOf = ({ nodes }: Requirements): number => nodes ?? 1;

/** Returns a key that is equal for jobs that fit the same workers. */
export const shapeOf = (needs: Requirements): string =>
  JSON.stringify([
    needs.target,
    nodesOf(needs),
    needs.gpuCount,
    usedGpus(needs),
    needs.vramGb,
    needs.accelerator,
    needs.guarded,
    needs.configKeys,
    needs.trainer ?? null,
    needs.data !== undefined,
    needs.inputs === true,
    sorted(needs.labels),
  ]);

/** Returns a key that is equal for workers that fit the same jobs. */
export const classOf = (offering: Offering): string =>
  JSON.stringify([
    offering.local,
    offering.nodes,
    offering.isMultiNode,
    offering.gpuCount,
    offering.gpuLimit,
    offering.vramGb,
    offering.accelerator,
    offering.guarded,
    offering.configKeys,
    offering.trainers,
    offering.replacesOutputs,
    offering.fetchesData,
    offering.fetchesInputs,
    sorted(offering.labels),
  ]);

const sorted = (labels: Labels): readonly (readonly [string, string])[] =>
  Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));

/**
 * Maximum share of a card's nominal memory that its driver and error correction reserve. For example, an L4 with 24 GB
 * reports 22.5 GiB, and a T4 with 16 GB reports 15 GiB.
 */
const maxReservedShare = 0.07;

/** Returns a matcher for these requirements. Compiles the label patterns once, for any number of workers. */
export function compileMatcher(needs: Requirements): Matcher {
  const labels = Object.entries(needs.labels).map(([key, pattern]) => ({
    key,
    pattern,
    automaton: compilePattern(pattern),
  }));
  return offering => [
    ...target(needs.target, offering.local),
    ...nodes(nodesOf(needs), offering),
    ...hardware(needs, offering),
    ...trainer(needs, offering),
    ...data(needs, offering),
    ...inputs(needs, offering),
    ...configKeys(needs, offering),
    ...labels.flatMap(({ key, pattern, automaton }) => {
      const value = Object.hasOwn(offering.labels, key) ? offering.labels[key] : undefined;
      // A label that equals the pattern always matches, even if it contains special characters.
      if (value !== undefined && (value === pattern || run(automaton, value).accepted)) return [];
      return [{ code: 'label' as const, wanted: `${key}=${pattern}`, offered: value ?? 'none' }];
    }),
  ];
}

const machineNames = { local: 'this machine', worker: 'a remote worker' } as const;

function target(required: Requirements['target'], isLocal: boolean): readonly Mismatch[] {
  const offered = isLocal ? 'local' : 'worker';
  if (required === 'auto' || required === offered) return [];
  return [{ code: 'target', wanted: machineNames[required], offered: machineNames[offered] }];
}

/**
 * A worker with several machines takes only jobs that use all of them. Workers with one machine can train a job
 * together.
 */
const nodes = (
  required: number,
  { nodes: offered, isMultiNode }: Pick<Offering, 'nodes' | 'isMultiNode'>,
): readonly Mismatch[] =>
  required === offered || isMultiNode
    ? []
    : [{ code: 'nodes', wanted: String(required), offered: String(offered) }];

function trainer({ trainer: required }: Requirements, { trainers }: Offering): readonly Mismatch[] {
  if (required === undefined || trainers === null || trainers.includes(required) || trainers.includes('any'))
    return [];
  return [
    { code: 'trainer', wanted: required, offered: trainers.length === 0 ? 'none' : trainers.join(', ') },
  ];
}

function data({ data: versions }: Requirements, offering: Offering): readonly Mismatch[] {
  if (versions === undefined || offering.fetchesData) return [];
  return [{ code: 'data', wanted: 'a worker that fetches data', offered: 'none' }];
}

const inputs = (needs: Requirements, { fetchesInputs }: Offering): readonly Mismatch[] =>
  needs.inputs !== true || fetchesInputs
    ? []
    : [{ code: 'inputs', wanted: 'a worker that fetches files of other jobs', offered: 'none' }];

/** Returns the config keys that the worker replaces. A trainer `any` gets the config unchanged. */
const replacedBy = ({ trainer: requiredTrainer }: Requirements, offering: Offering): readonly string[] =>
  requiredTrainer !== undefined &&
  offering.replacesOutputs &&
  offering.trainers?.includes(requiredTrainer) === true
    ? (trainerNamed(requiredTrainer)?.replacedKeys ?? [])
    : [];

function configKeys(needs: Requirements, offering: Offering): readonly Mismatch[] {
  const replaced = replacedBy(needs, offering);
  const refused = needs.configKeys.filter(
    key => !offering.configKeys.includes(key) && !replaced.includes(key),
  );
  if (refused.length === 0) return [];
  return [{ code: 'config_key', wanted: refused.join(', '), offered: 'not allowed' }];
}

function hardware(needs: Requirements, offering: Offering): readonly Mismatch[] {
  const { gpuCount, gpuLimit, vramGb, accelerator } = offering;
  const used = usedGpus(needs);
  const reasons: Mismatch[] = [];
  if (gpuCount < needs.gpuCount)
    reasons.push({ code: 'gpu_count', wanted: String(needs.gpuCount), offered: String(gpuCount) });
  if (gpuLimit !== null && used > gpuLimit)
    reasons.push({ code: 'gpu_limit', wanted: String(used), offered: String(gpuLimit) });
  if (vramGb < needs.vramGb * (1 - maxReservedShare))
    reasons.push({
      code: 'vram',
      wanted: `${needs.vramGb} GB`,
      offered: `${Math.round(vramGb * 10) / 10} GB`,
    });
  if (needs.accelerator !== null && needs.accelerator !== accelerator)
    reasons.push({ code: 'accelerator', wanted: needs.accelerator, offered: accelerator ?? 'none' });
  if (needs.guarded && !offering.guarded)
    reasons.push({ code: 'guard', wanted: 'a worker that stops without contact', offered: 'none' });
  return reasons;
}
