import assert from 'node:assert/strict';
import { startV1Agent, type V1Agent } from '../support/v1-agent.ts';
import { createManualRun, scriptedTrainer, type V1Trainer } from '../support/v1-trainer.ts';
import type { FaultFleet } from './fault-fleet.ts';
import type { Scenario } from './scenario.ts';

const agentCount = 10;

/** Starts ten simulations of SimpleTuner's published agent, v1 (docs/internals/worker-contract.md, section 3). */
async function startFleet(fleet: FaultFleet, trainer: V1Trainer): Promise<readonly V1Agent[]> {
  const { server, admin, events } = fleet;
  await server.start();
  return Promise.all(
    Array.from({ length: agentCount }, async (_, n) => {
      const name = `host-${n}`;
      const { id, token } = await admin.createWorker(name, { labels: { rig: name } });
      const agent = startV1Agent({
        url: server.url,
        token,
        name,
        persistent: true,
        trainer,
        heartbeatMs: 1_000,
      });
      fleet.onDisconnect(() => void agent.kill());
      await events.worker(id, 'worker.connected');
      return agent;
    }),
  );
}

/**
 * Expects that the job ends with this status, and that all earlier attempts were withdrawn. The orchestrator withdraws offers
 * that the agent dropped.
 */
async function expectStatusAtEnd(fleet: FaultFleet, id: string, status: string): Promise<void> {
  await fleet.events.event(
    `the end of ${id}`,
    event => event.job_id === id && /^job\.(completed|failed|cancelled)$/.test(event.type),
  );
  const job = await fleet.admin.job(id);
  assert.equal(job.status, status, `${id}: ${job.error_message}`);
  const outcomes = job.attempts.map(({ outcome }) => outcome).slice(0, -1);
  assert.deepEqual(
    outcomes.filter(outcome => outcome !== 'withdrawn'),
    [],
    `earlier attempts of ${id}`,
  );
}

/** A trainer that prints every 30 ms until it is stopped. The published agent handles commands only while its trainer prints. */
const printingTrainer: V1Trainer = job => {
  const run = createManualRun(job);
  const timer = setInterval(() => (run.exitCode() === null ? run.print('step') : clearInterval(timer)), 30);
  return run;
};

const shortTrainer = scriptedTrainer({ lines: ['step 1'] });

const isLong = (config: unknown): boolean =>
  typeof config === 'object' && config !== null && 'kind' in config && config.kind === 'long';

const afterCompletion = (count: number): Scenario => ({
  id: 'F15',
  title: `completes all ${count} jobs that published agents receive immediately after completing another job`,
  quick: false,
  async run(fleet) {
    await startFleet(fleet, shortTrainer);
    const jobs = await Promise.all(Array.from({ length: count }, () => fleet.admin.submit({ config: {} })));
    for (const id of jobs) await expectStatusAtEnd(fleet, id, 'completed');
  },
});

export const publishedAgents: readonly Scenario[] = [
  afterCompletion(200),
  {
    id: 'F15',
    title: 'completes all 100 jobs that published agents receive immediately after a cancelled job',
    quick: false,
    async run(fleet) {
      const agents = await startFleet(fleet, job =>
        (isLong(job.config) ? printingTrainer : shortTrainer)(job),
      );
      const { admin, events } = fleet;
      const cancelOneOfTwo = async (agent: V1Agent, name: string): Promise<void> => {
        const labels = { worker_labels: { rig: name } };
        const longJob = await admin.submit({ config: { kind: 'long' }, ...labels });
        const nextJob = await admin.submit({ config: { kind: 'short' }, ...labels });
        await agent.events.waitFor('trainerLine', line => line.jobId === longJob);
        await events.job(longJob, 'job.running');
        await admin.must('POST', `/api/queue/${longJob}/cancel`);
        await expectStatusAtEnd(fleet, longJob, 'cancelled');
        await expectStatusAtEnd(fleet, nextJob, 'completed');
      };
      const runAgent = async (agent: V1Agent, index: number): Promise<void> => {
        for (let count = 0; count < 100 / agentCount; count += 1)
          await cancelOneOfTwo(agent, `host-${index}`);
      };
      await Promise.all(agents.map(runAgent));
    },
  },
];
