/** Decides from the output of the vendor's tool whether the chosen GPUs are present and healthy. Runs no programs. */

import type { GpuTrouble, GpuTroubleKind } from '../../protocol/worker.ts';
import type { Gpu, GpuProblemCode, GpuReport } from './report.ts';

/** A GPU as the vendor's tool lists it. */
export interface Card {
  readonly index: number;
  readonly uuid: string | undefined;
  /** The tool lists the GPU, but the GPU does not respond. */
  readonly isLost: boolean;
  /**
   * The number of uncorrectable memory errors since the driver was loaded; undefined if the GPU does not count them.
   */
  readonly uncorrected: number | undefined;
}

/** The result of a probe. */
export type Cards =
  | { readonly kind: 'listed'; readonly cards: readonly Card[] }
  /** The tool reports that no GPU can be used, and why. */
  | { readonly kind: 'broken'; readonly message: string }
  /** The tool did not finish in time: the machine may be too busy, or its driver hangs. */
  | { readonly kind: 'silent'; readonly message: string }
  /** The output contains nothing about the GPUs, because the tool is too old for the query. */
  | { readonly kind: 'unknown' };

/** A trouble of a GPU. `ours`: a process from a job of this worker holds the GPU. */
export interface KnownTrouble extends GpuTrouble {
  readonly ours?: true;
}

/** The protocol's limit for the detail, in characters. */
const maxChars = 200;

export const makeTrouble = (gpu: number, kind: GpuTroubleKind, detail: string): KnownTrouble => ({
  gpu,
  kind,
  detail: detail.slice(0, maxChars),
});

/**
 * Returns which of the chosen GPUs are missing or have errors; null when this probe gives no information. GPUs also count
 * as missing when the tool has timed out twice in a row. `wasSilent`: the previous probe timed out.
 */
export function conditionsOf(
  chosen: readonly Gpu[],
  cards: Cards,
  wasSilent: boolean,
): readonly KnownTrouble[] | null {
  switch (cards.kind) {
    case 'unknown':
      return null;
    case 'silent':
      return wasSilent ? allMissing(chosen, cards.message) : null;
    case 'broken':
      return allMissing(chosen, cards.message);
    case 'listed':
      return chosen.flatMap(gpu => conditionOf(gpu, cardOf(gpu, cards.cards)) ?? []);
  }
}

/** Problems that can make the first probe list too few GPUs. */
const hidesGpus: ReadonlySet<GpuProblemCode> = new Set([
  'gpu_lost',
  'driver_unreachable',
  'driver_mismatch',
  'no_devices',
  'probe_timeout',
]);

/**
 * Returns the troubles that the probe at the worker's start found. They last until the worker restarts. Without them,
 * jobs that request no number of GPUs would be dispatched here and fail. `choice`: whether this worker uses all GPUs of
 * its machine, some, or none.
 */
export function missingFromStart(
  { gpus, problem }: GpuReport,
  choice: 'all' | 'some' | 'none',
): readonly KnownTrouble[] {
  if (problem === undefined || !hidesGpus.has(problem.code)) return [];
  // The missing GPUs need not be among the chosen ones.
  if (choice === 'none' || (choice === 'some' && gpus.length > 0)) return [];
  const first = gpus.findIndex(({ index }, at) => index !== at);
  return [makeTrouble(first === -1 ? gpus.length : first, 'missing', problem.message)];
}

const allMissing = (chosen: readonly Gpu[], message: string): readonly KnownTrouble[] =>
  chosen.map(({ index }) => makeTrouble(index, 'missing', message));

/** Finds a GPU by its UUID, because indices shift when a GPU falls off the bus. */
const cardOf = ({ index, uuid }: Gpu, cards: readonly Card[]): Card | undefined =>
  (uuid === undefined ? undefined : cards.find(card => card.uuid === uuid)) ??
  cards.find(card => card.index === index && (uuid === undefined || card.uuid === undefined));

const remedy = 'reboot this machine, then check its power, cooling and slot';

function conditionOf({ index }: Gpu, card: Card | undefined): KnownTrouble | null {
  if (card === undefined) return makeTrouble(index, 'missing', `it is no longer listed: ${remedy}`);
  if (card.isLost) return makeTrouble(index, 'missing', `it no longer responds: ${remedy}`);
  // Trainers select a GPU by its index, so they would use the wrong GPU.
  if (card.index !== index)
    return makeTrouble(
      index,
      'missing',
      `its index is now ${card.index}, because another GPU is missing: reboot this machine, or restart the worker`,
    );
  // Even a single error requires a reset of the GPU, which clears this count.
  if ((card.uncorrected ?? 0) > 0)
    return makeTrouble(
      index,
      'errors',
      `${card.uncorrected} memory errors that could not be corrected: reset it (nvidia-smi --gpu-reset -i ${index}) or reboot; if ` +
        'they occur again, replace it',
    );
  return null;
}
