/** Tests which datasets the agent reports, and when. */
import { expect, it } from 'vitest';
import { nextHeartbeat, useFakeTimers, startAgent, startAgentWithJob } from '../agent-fixture.ts';
import { startOrchestrator } from '../scripted-orchestrator.ts';

useFakeTimers();

const versionOf = (n: number): string => n.toString(16).padStart(64, '0');

it('registers with the 100 most recently used datasets', async () => {
  const datasets = Array.from({ length: 101 }, (_, n) => versionOf(n));
  const orchestrator = await startOrchestrator();
  const { connected } = startAgent(orchestrator, { datasets: () => datasets });
  await connected();
  expect((await orchestrator.nth('register')).body).toMatchObject({ datasets: datasets.slice(0, 100) });
});

it('reports no datasets when the agent cannot download data', async () => {
  const orchestrator = await startOrchestrator();
  const { connected } = startAgent(orchestrator);
  await connected();
  expect((await orchestrator.nth('register')).body).not.toHaveProperty('datasets');
  expect((await nextHeartbeat(orchestrator)).body).not.toHaveProperty('datasets');
});

it('reports datasets in a heartbeat only after they have changed', async () => {
  let datasets: readonly string[] = [];
  const orchestrator = await startOrchestrator();
  const { connected } = startAgent(orchestrator, { datasets: () => datasets });
  await connected();
  expect((await nextHeartbeat(orchestrator)).body).toMatchObject({ datasets: [] });
  expect((await nextHeartbeat(orchestrator)).body).not.toHaveProperty('datasets');
  datasets = [versionOf(1)];
  expect((await nextHeartbeat(orchestrator)).body).toMatchObject({ datasets: [versionOf(1)] });
  expect((await nextHeartbeat(orchestrator)).body).not.toHaveProperty('datasets');
});

it('reports new datasets before the end of the job, so that the server knows these datasets for the next job', async () => {
  let datasets: readonly string[] = [];
  const { orchestrator, run } = await startAgentWithJob({ datasets: () => datasets });
  await nextHeartbeat(orchestrator);
  datasets = [versionOf(1)];
  run.end(0);
  await orchestrator.reported('completed');
  const [heartbeat, endReport] = orchestrator.calls
    .filter(({ name }) => name === 'heartbeat' || name === 'status')
    .slice(-2);
  expect(heartbeat?.body).toMatchObject({ datasets: [versionOf(1)], current_job_id: 'j1' });
  expect(endReport?.body).toMatchObject({ status: 'completed' });
});
