/** Tests when the agent reports problems of its GPUs. */
import { expect, it } from 'vitest';
import type { GpuTrouble } from '../../../../protocol/worker.ts';
import { nextHeartbeat, useFakeTimers, startAgent, startAgentWithJob } from '../agent-fixture.ts';
import { startOrchestrator } from '../scripted-orchestrator.ts';

useFakeTimers();

const held: GpuTrouble = { gpu: 0, kind: 'held', detail: 'process 9 (python) is left over of job j1' };

it('sends GPU problems with the registration and every heartbeat', async () => {
  const orchestrator = await startOrchestrator();
  const { connected } = startAgent(orchestrator, { telemetry: () => ({ gpu_troubles: [held] }) });
  await connected();
  expect((await orchestrator.nth('register')).body).toMatchObject({ gpu_troubles: [held] });
  expect((await nextHeartbeat(orchestrator)).body).toMatchObject({ gpu_troubles: [held] });
});

it('sends no gpu_troubles when the agent does not check its GPUs', async () => {
  const orchestrator = await startOrchestrator();
  const { connected } = startAgent(orchestrator);
  await connected();
  expect((await orchestrator.nth('register')).body).not.toHaveProperty('gpu_troubles');
});

it('reports leftover processes on a GPU before it reports the end of the job', async () => {
  let troubles: readonly GpuTrouble[] = [];
  const { orchestrator, run } = await startAgentWithJob({ telemetry: () => ({ gpu_troubles: troubles }) });
  await nextHeartbeat(orchestrator);
  troubles = [held];
  run.end(0);
  await orchestrator.reported('completed');
  const [heartbeat, endReport] = orchestrator.calls
    .filter(({ name }) => name === 'heartbeat' || name === 'status')
    .slice(-2);
  expect(heartbeat?.body).toMatchObject({ gpu_troubles: [held], current_job_id: 'j1' });
  expect(endReport?.body).toMatchObject({ status: 'completed' });
});

it('sends no extra heartbeat at the end of a job when nothing has changed', async () => {
  const { orchestrator, run } = await startAgentWithJob({ telemetry: () => ({ gpu_troubles: [] }) });
  await nextHeartbeat(orchestrator);
  const count = orchestrator.count('heartbeat');
  run.end(0);
  await orchestrator.reported('completed');
  expect(orchestrator.count('heartbeat')).toBe(count);
});
