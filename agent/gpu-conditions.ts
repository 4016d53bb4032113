/** Whether the chosen GPUs are there and sound, as their vendor's tool tells. Decisions alone: nothing is run here. */

import type { GpuTrouble, GpuTroubleKind } from '../protocol/worker.ts';
import type { Gpu, GpuProblemCode, GpuReport } from './gpu-report.ts';

/** A GPU as a tool lists it. */
export interface Card {
  readonly index: number;
  readonly uuid: string | undefined;
  /** It is listed, and answers nothing. */
  readonly isLost: boolean;
  /** Memory errors that could not be corrected, since the driver was loaded; undefined where they are not counted. */
  readonly uncorrected: number | undefined;
}

/** What came of a look. */
export type Cards =
  | { readonly kind: 'listed'; readonly cards: readonly Card[] }
  /** The tool itself says that nothing here can be used, and why. */
  | { readonly kind: 'broken'; readonly message: string }
  /** It did not answer: a machine may be too busy for once, or its driver hangs. */
  | { readonly kind: 'silent'; readonly message: string }
  /** Nothing that says anything about the GPUs: a tool too old to know what was asked. */
  | { readonly kind: 'unknown' };

/** A trouble as the agent knows it; `ours`: what holds the GPU has come from a job of this worker. */
export interface KnownTrouble extends GpuTrouble {
  readonly ours?: true;
}

/** What the protocol takes. */
const mostChars = 200;

export const makeTrouble = (gpu: number, kind: GpuTroubleKind, detail: string): KnownTrouble => ({
  gpu,
  kind,
  detail: detail.slice(0, mostChars),
});

/**
 * Which of the chosen GPUs are missing or have errors; null when this look says nothing. One look without an answer is none: the
 * second in a row counts, `wasSilent`.
 */
export function conditionsOf(
  chosen: readonly Gpu[],
  look: Cards,
  wasSilent: boolean,
): readonly KnownTrouble[] | null {
  switch (look.kind) {
    case 'unknown':
      return null;
    case 'silent':
      return wasSilent ? allMissing(chosen, look.message) : null;
    case 'broken':
      return allMissing(chosen, look.message);
    case 'listed':
      return chosen.flatMap(gpu => conditionOf(gpu, cardOf(gpu, look.cards)) ?? []);
  }
}

/** Of the probe at the start: what keeps GPUs from being found that this machine has. */
const findsLess: ReadonlySet<GpuProblemCode> = new Set([
  'gpu_lost',
  'driver_unreachable',
  'driver_mismatch',
  'no_devices',
  'probe_timeout',
]);

/**
 * What is wrong from the start, and until the worker is started anew: jobs that name no number of GPUs would come here, and fail.
 * `choice`: whether this worker is to use all GPUs that there are, some of them, or none.
 */
export function missingFromStart(
  { gpus, problem }: GpuReport,
  choice: 'all' | 'some' | 'none',
): readonly KnownTrouble[] {
  if (problem === undefined || !findsLess.has(problem.code)) return [];
  // With those that were chosen all may be well.
  if (choice === 'none' || (choice === 'some' && gpus.length > 0)) return [];
  const first = gpus.findIndex(({ index }, at) => index !== at);
  return [makeTrouble(first === -1 ? gpus.length : first, 'missing', problem.message)];
}

const allMissing = (chosen: readonly Gpu[], message: string): readonly KnownTrouble[] =>
  chosen.map(({ index }) => makeTrouble(index, 'missing', message));

/** By its UUID: when one falls off the bus, those behind it move up a number. */
const cardOf = ({ index, uuid }: Gpu, cards: readonly Card[]): Card | undefined =>
  (uuid === undefined ? undefined : cards.find(card => card.uuid === uuid)) ??
  cards.find(card => card.index === index && (uuid === undefined || card.uuid === undefined));

const whatHelps = 'reboot this machine, then check its power, cooling and slot';

function conditionOf({ index }: Gpu, card: Card | undefined): KnownTrouble | null {
  if (card === undefined) return makeTrouble(index, 'missing', `it is not listed any more: ${whatHelps}`);
  if (card.isLost) return makeTrouble(index, 'missing', `it does not answer any more: ${whatHelps}`);
  // A trainer is told numbers, and would be given another card.
  if (card.index !== index)
    return makeTrouble(
      index,
      'missing',
      `it is number ${card.index} now, since another GPU is gone: reboot this machine, or restart the worker`,
    );
  // Those that a reset has dealt with are not in this count: with a single one the card wants one before it can be trusted again.
  if ((card.uncorrected ?? 0) > 0)
    return makeTrouble(
      index,
      'errors',
      `${card.uncorrected} memory errors that could not be corrected: reset it (nvidia-smi --gpu-reset -i ${index}) or reboot; if ` +
        'they come again, have it replaced',
    );
  return null;
}
