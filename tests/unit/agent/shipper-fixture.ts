import {
  createLogPace,
  createLogShipper,
  type LogShipper,
  type LogShipperDeps,
} from '../../../agent/logs/log-shipper.ts';
import type { CallFailure } from '../../../protocol/client.ts';
import type { LogChunkBody } from '../../../protocol/logs-api.ts';
import { createLogStore, type LogStore } from '../../support/log-book.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { attemptId, unreachable } from './builders.ts';

/**
 * The orchestrator's answer to a chunk. `taken`: it stores the chunk. `lost`: it stores the chunk, but the answer is lost.
 * `never`: it does not answer. `CallFailure`: it stores nothing, and the call fails. A function returns the position that
 * the answer contains.
 */
export type ChunkAnswer = 'taken' | 'lost' | 'never' | CallFailure | ((chunk: LogChunkBody) => number);

export interface ShipperFixture {
  readonly clock: VirtualClock;
  /** The log that the orchestrator has stored. */
  readonly store: LogStore;
  readonly chunks: readonly LogChunkBody[];
  /** Chooses the response to each chunk. */
  answer: (chunk: LogChunkBody) => ChunkAnswer;
  print(output: string | Uint8Array): void;
  /** All output that the trainer has printed so far. */
  printed(): Buffer;
  /** Removes the output before this byte offset from the disk. */
  rotate(offset: number): void;
  start(overrides?: Partial<LogShipperDeps>): LogShipper;
  /** Ends the shipper without an upload, like the death of the agent's process. */
  kill(): void;
}

/** Creates log shippers for a log in memory, on virtual time. The test chooses the answers of the orchestrator. */
export function createShipperFixture(store: LogStore = createLogStore()): ShipperFixture {
  const clock = createVirtualClock();
  let output: Buffer[] = [];
  const chunks: LogChunkBody[] = [];
  /** The first offset that is still on the disk. */
  let firstOffset = 0;
  let process = new AbortController();

  const allPrinted = (): Buffer => {
    // Joins the pieces only once, because the shipper reads hundreds of times and a copy of the largest log takes 10 ms.
    const [first] = output;
    if (first !== undefined && output.length === 1) return first;
    const whole = Buffer.concat(output);
    output = [whole];
    return whole;
  };
  const send = async (chunk: LogChunkBody, signal: AbortSignal): ReturnType<LogShipperDeps['ship']> => {
    chunks.push(chunk);
    const answer = fixture.answer(chunk);
    if (answer === 'never') await new Promise(resolve => signal.addEventListener('abort', resolve));
    if (signal.aborted) return { ok: false, failure: unreachable('ECANCELED') };
    if (typeof answer === 'function') return { ok: true, value: { success: true, next: answer(chunk) } };
    if (typeof answer === 'object') return { ok: false, failure: answer };
    const next = store.accept(chunk);
    return answer === 'lost'
      ? { ok: false, failure: unreachable('ECONNRESET') }
      : { ok: true, value: { success: true, next } };
  };
  const fixture: ShipperFixture = {
    clock,
    store,
    chunks,
    answer: () => 'taken',
    print: text => void output.push(Buffer.from(text)),
    printed: allPrinted,
    rotate(offset) {
      firstOffset = offset;
    },
    start: overrides =>
      createLogShipper({
        attemptId: attemptId('a1'),
        log: {
          async read(offset, maxBytes) {
            const from = Math.max(offset, firstOffset);
            return { from, bytes: allPrinted().subarray(from, from + maxBytes) };
          },
          end: async () => allPrinted().length,
        },
        ownLine: '[own]',
        knownSecrets: () => [],
        ship: send,
        clock,
        random: () => 0.5,
        pace: createLogPace(clock),
        giveUpAfterMs: 24 * 60 * 60 * 1000,
        signal: process.signal,
        ...overrides,
      }),
    kill() {
      process.abort();
      process = new AbortController();
    },
  };
  return fixture;
}
