import { describe, expect, it } from 'vitest';
import { useFakeTimers, advanceTime, startAgentWithJob } from '../agent-fixture.ts';
import { refused } from '../scripted-orchestrator.ts';

useFakeTimers();

const wandb = { kind: 'wandb', url: 'https://wandb.ai/ada/flux/runs/8k2v1q0x' };
const mlflow = { kind: 'mlflow', url: 'http://mlflow.lan:5000/#/experiments/1/runs/0b7f' };

describe('links of a job to experiment trackers', () => {
  it('sends a link immediately, and all links with each later report', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    const sentLinks = (): readonly unknown[] =>
      orchestrator.calls.flatMap(({ name, body }) =>
        name === 'status' && 'links' in body ? [body['links']] : [],
      );
    run.listeners.onLink?.(wandb);
    await advanceTime(1_000);
    await orchestrator.reported('running');
    run.listeners.onLink?.(mlflow);
    run.listeners.onProgress({ step: 1 });
    await advanceTime(2_000);
    run.end(0);
    expect((await orchestrator.reported('completed')).body['links']).toEqual([wandb, mlflow]);
    expect(sentLinks()).toContainEqual([wandb]);
  });

  it('sends a link with the final report although the server refused an earlier report with this link', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    orchestrator.answers.status = ({ body }) =>
      body['status'] === 'running' ? refused(503) : { status: 200, body: { success: true } };
    run.listeners.onLink?.(wandb);
    await advanceTime(1_000);
    run.end(1);
    expect((await orchestrator.reported('failed')).body['links']).toEqual([wandb]);
  });

  it('does not send a link that contains a secret', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    run.listeners.onLink?.({
      kind: 'wandb',
      url: `https://wandb.ai/ada/hf_${'a1'.repeat(20)}/runs/8k2v1q0x`,
    });
    run.end(0);
    expect((await orchestrator.reported('completed')).body).not.toHaveProperty('links');
  });
});
