/** What the agent reports about its GPUs, and when. */
import { expect, it } from 'vitest';
import type { GpuTrouble } from '../../../../protocol/worker.ts';
import { beat, holdTime, startAgent, startBusy } from '../agent-bench.ts';
import { startOrchestrator } from '../scripted-orchestrator.ts';

holdTime();

const held: GpuTrouble = { gpu: 0, kind: 'held', detail: 'process 9 (python) is left over of job j1' };

it('its first word has it, and so has every beat', async () => {
  const orchestrator = await startOrchestrator();
  const { connected } = startAgent(orchestrator, { telemetry: () => ({ gpu_troubles: [held] }) });
  await connected();
  expect((await orchestrator.nth('register')).body).toMatchObject({ gpu_troubles: [held] });
  expect((await beat(orchestrator)).body).toMatchObject({ gpu_troubles: [held] });
});

it('an agent that does not look says nothing of it', async () => {
  const orchestrator = await startOrchestrator();
  const { connected } = startAgent(orchestrator);
  await connected();
  expect((await orchestrator.nth('register')).body).not.toHaveProperty('gpu_troubles');
});

it('what a job has left on a GPU is said before its end is, so that no other job is sent there', async () => {
  let troubles: readonly GpuTrouble[] = [];
  const { orchestrator, run } = await startBusy({ telemetry: () => ({ gpu_troubles: troubles }) });
  await beat(orchestrator);
  troubles = [held];
  run.end(0);
  await orchestrator.reported('completed');
  const words = orchestrator.calls
    .map(({ name, body }) => [name, body] as const)
    .filter(([name]) => name === 'heartbeat' || name === 'status');
  const [before, last] = words.slice(-2);
  expect(before?.[1]).toMatchObject({ gpu_troubles: [held], current_job_id: 'j1' });
  expect(last?.[1]).toMatchObject({ status: 'completed' });
});

it('where nothing has changed the end of a job costs no beat', async () => {
  const { orchestrator, run } = await startBusy({ telemetry: () => ({ gpu_troubles: [] }) });
  await beat(orchestrator);
  const count = orchestrator.count('heartbeat');
  run.end(0);
  await orchestrator.reported('completed');
  expect(orchestrator.count('heartbeat')).toBe(count);
});
