import assert from 'node:assert/strict';
import type { HttpExchange } from '../support/chaos-proxy.ts';
import type { Bench, Rig } from './bench.ts';
import { timeoutS } from './bench-server.ts';
import type { Scenario } from './scenario.ts';

/** An agent gives up a silent stream after T/2, then waits for up to 1 s. The rest is a margin for a busy machine. */
const reconnectWithinMs = (timeoutS * 1_000) / 2 + 1_000 + 1_500;

const streamsOf = (rig: Rig): readonly HttpExchange[] => rig.proxy.calls('GET /api/workers/stream');

/** Breaks the stream of an idle rig. Expects that a job submitted then is offered once, on a new stream. */
async function expectOneDelivery(
  bench: Bench,
  breakStream: (rig: Rig) => void,
  args: readonly string[] = [],
): Promise<void> {
  await bench.server.start({ args });
  const rig = await bench.rig('rig-1');
  breakStream(rig);
  const brokenAt = performance.now();
  const job = await bench.submit({ run_ms: 100 });
  await bench.events.job(job.id, 'job.completed');
  const [, next] = streamsOf(rig);
  const waitedMs = (next?.at ?? Number.POSITIVE_INFINITY) - brokenAt;
  assert.ok(waitedMs < reconnectWithinMs, `a new stream after ${waitedMs} ms`);
  assert.equal(bench.trainers.runs(job.id).length, 1, 'trainers started');
  const { attempts } = await bench.admin.job(job.id);
  // The orchestrator withdraws an offer that reached no agent, which costs the job no retry.
  const outcomes = attempts.map(({ outcome }) => outcome);
  assert.equal(outcomes.pop(), 'completed');
  assert.deepEqual(new Set(outcomes), new Set(outcomes.length > 0 ? ['withdrawn'] : []));
}

export const streamBreaks: readonly Scenario[] = [
  {
    id: 'F12',
    title: 'delivers a command once when the stream is half-open and dead at the agent',
    quick: false,
    run: bench => expectOneDelivery(bench, rig => rig.proxy.halfOpen('client')),
  },
  {
    id: 'F12',
    title: 'delivers a command once when the stream is half-open and dead at the orchestrator',
    quick: false,
    run: bench => expectOneDelivery(bench, rig => rig.proxy.halfOpen('orchestrator')),
  },
  {
    id: 'F12',
    title: 'delivers an offer once in the same attempt when the connection resets inside its frame',
    quick: false,
    async run(bench) {
      let cut = Promise.resolve();
      const breakStream = (rig: Rig): void => {
        cut = rig.proxy.resetInFrame('"type":"job_submit"');
      };
      // Use a longer T: on a busy machine, an agent could otherwise reconnect only after the offer was withdrawn.
      await expectOneDelivery(bench, breakStream, ['--heartbeat-timeout', '12']);
      await cut;
      const [id = ''] = bench.notes.accepted;
      assert.equal((await bench.admin.job(id)).attempts.length, 1, 'attempts');
    },
  },
];
