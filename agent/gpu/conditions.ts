/** Decides whether the chosen GPUs are present and healthy, from the output of the vendor's tool. Runs nothing. */

import type { GpuTrouble, GpuTroubleKind } from '../../protocol/worker.ts';
import type { Gpu, GpuProblemCode, GpuReport } from './report.ts';

/** A GPU as the vendor's tool lists it. */
export interface Card {
  readonly index: number;
  readonly uuid: string | undefined;
  /** The tool lists the GPU, but the GPU does not respond. */
  readonly isLost: boolean;
  /**
   * Memory errors that could not be corrected, since the driver was loaded; undefined where the GPU does not count
   * them.
   */
  readonly uncorrected: number | undefined;
}

/** The result of a probe. */
export type Cards =
  | { readonly kind: 'listed'; readonly cards: readonly Card[] }
  /** The tool reports that no GPU can be used, and why. */
  | { readonly kind: 'broken'; readonly message: string }
  /** The tool did not answer: the machine may be too busy, or its driver hangs. */
  | { readonly kind: 'silent'; readonly message: string }
  /** The output says nothing about the GPUs: the tool is too old to know the query. */
  | { readonly kind: 'unknown' };

/** A trouble as the agent knows it. `ours`: a job of this worker started the process that holds the GPU. */
export interface KnownTrouble extends GpuTrouble {
  readonly ours?: true;
}

/** The protocol's limit. */
const maxChars = 200;

export const makeTrouble = (gpu: number, kind: GpuTroubleKind, detail: string): KnownTrouble => ({
  gpu,
  kind,
  detail: detail.slice(0, maxChars),
});

/**
 * Returns which of the chosen GPUs are missing or have errors; null when this probe does not show it. A tool must fail
 * to answer twice in a row (`wasSilent`) before its GPUs count as missing.
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

/** Problems of the first probe that can hide GPUs of this machine. */
const findsLess: ReadonlySet<GpuProblemCode> = new Set([
  'gpu_lost',
  'driver_unreachable',
  'driver_mismatch',
  'no_devices',
  'probe_timeout',
]);

/**
 * Returns the troubles that last from the start until the worker restarts. Without them, jobs that request no number of
 * GPUs would be dispatched here and fail. `choice`: whether this worker uses all GPUs of its machine, some, or none.
 */
export function missingFromStart(
  { gpus, problem }: GpuReport,
  choice: 'all' | 'some' | 'none',
): readonly KnownTrouble[] {
  if (problem === undefined || !findsLess.has(problem.code)) return [];
  // The chosen GPUs may all be healthy.
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

const whatHelps = 'reboot this machine, then check its power, cooling and slot';

function conditionOf({ index }: Gpu, card: Card | undefined): KnownTrouble | null {
  if (card === undefined) return makeTrouble(index, 'missing', `it is not listed any more: ${whatHelps}`);
  if (card.isLost) return makeTrouble(index, 'missing', `it does not answer any more: ${whatHelps}`);
  // Trainers select a GPU by its index, and would get another one.
  if (card.index !== index)
    return makeTrouble(
      index,
      'missing',
      `it is number ${card.index} now, since another GPU is gone: reboot this machine, or restart the worker`,
    );
  // A reset clears this count. After a single error, the GPU needs a reset before it can be trusted again.
  if ((card.uncorrected ?? 0) > 0)
    return makeTrouble(
      index,
      'errors',
      `${card.uncorrected} memory errors that could not be corrected: reset it (nvidia-smi --gpu-reset -i ${index}) or reboot; if ` +
        'they come again, have it replaced',
    );
  return null;
}
