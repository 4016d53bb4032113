import assert from 'node:assert/strict';
import type { HttpExchange } from '../support/chaos-proxy.ts';
import type { FaultFleet, Rig } from './fault-fleet.ts';
import { heartbeatTimeoutS } from './server-process.ts';
import type { Scenario } from './scenario.ts';

/**
 * An agent gives up a silent stream after half of the heartbeat timeout, and reconnects within 1 s. The other 1.5 s are a margin
 * for a busy machine.
 */
const reconnectWithinMs = (heartbeatTimeoutS * 1_000) / 2 + 1_000 + 1_500;

const streamsOf = (rig: Rig): readonly HttpExchange[] => rig.proxy.calls('GET /api/workers/stream');

/** Breaks the stream of an idle rig, then submits a job. Expects that the job runs once, offered on a new stream. */
async function expectOneDelivery(
  fleet: FaultFleet,
  breakStream: (rig: Rig) => void,
  args: readonly string[] = [],
): Promise<void> {
  await fleet.server.start({ args });
  const rig = await fleet.startRig('rig-1');
  breakStream(rig);
  const brokenAt = performance.now();
  const job = await fleet.submit({ run_ms: 100 });
  await fleet.events.job(job.id, 'job.completed');
  const [, newStream] = streamsOf(rig);
  const waitedMs = (newStream?.at ?? Number.POSITIVE_INFINITY) - brokenAt;
  assert.ok(waitedMs < reconnectWithinMs, `a new stream after ${waitedMs} ms`);
  assert.equal(fleet.trainers.runs(job.id).length, 1, 'trainers started');
  const { attempts } = await fleet.admin.job(job.id);
  // The orchestrator withdraws an offer that reached no agent, which costs the job no retry.
  const outcomes = attempts.map(({ outcome }) => outcome);
  assert.equal(outcomes.at(-1), 'completed');
  assert.ok(outcomes.slice(0, -1).every(outcome => outcome === 'withdrawn'));
}

export const streamBreaks: readonly Scenario[] = [
  {
    id: 'F12',
    title: 'delivers an offer once when the stream carries no more data, but neither end is closed',
    quick: false,
    run: fleet => expectOneDelivery(fleet, rig => rig.proxy.halfOpen('client')),
  },
  {
    id: 'F12',
    title: "delivers an offer once when only the orchestrator's end of the stream is closed",
    quick: false,
    run: fleet => expectOneDelivery(fleet, rig => rig.proxy.halfOpen('orchestrator')),
  },
  {
    id: 'F12',
    title:
      'delivers an offer once, in the same attempt, when the connection resets inside the frame of the offer',
    quick: false,
    async run(fleet) {
      let reset = Promise.resolve();
      const breakStream = (rig: Rig): void => {
        reset = rig.proxy.resetInFrame('"type":"job_submit"');
      };
      // Use a longer heartbeat timeout: on a busy machine, an agent could otherwise reconnect only after the offer was withdrawn.
      await expectOneDelivery(fleet, breakStream, ['--heartbeat-timeout', '12']);
      await reset;
      const [id = ''] = fleet.records.accepted;
      assert.equal((await fleet.admin.job(id)).attempts.length, 1, 'attempts');
    },
  },
];
