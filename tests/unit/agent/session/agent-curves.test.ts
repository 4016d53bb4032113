import { describe, expect, it } from 'vitest';
import { useFakeTimers, advanceTime, startAgentWithJob } from '../agent-fixture.ts';
import { refused } from '../scripted-orchestrator.ts';

useFakeTimers();

const stepsIn = (calls: readonly { readonly name: string; readonly body: object }[]) =>
  calls.flatMap(({ name, body }) =>
    name === 'metrics' && 'points' in body && Array.isArray(body.points)
      ? body.points.map(point => (point as { readonly step?: number }).step)
      : [],
  );

describe('metrics of a job', () => {
  it('sends metrics with the attempt id while the job runs', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    run.listeners.onFigures({ progress: { step: 1, loss: 0.5 }, gaps: [] }, false);
    await advanceTime(5_000);
    expect((await orchestrator.nth('metrics')).body).toMatchObject({
      attempt_id: 'a1',
      points: [{ n: 0, step: 1, values: { loss: 0.5 } }],
    });
  });

  it('sends all metrics before a leaving worker disconnects', async () => {
    const { orchestrator, run, exit } = await startAgentWithJob({ persistent: false });
    run.listeners.onFigures({ progress: { step: 7, loss: 0.5 }, gaps: [] }, false);
    run.end(0);
    await orchestrator.nth('disconnect');
    expect(await exit).toBe(0);
    const names = orchestrator.calls.map(({ name }) => name);
    expect(names.indexOf('metrics')).toBeGreaterThan(0);
    expect(names.indexOf('metrics')).toBeLessThan(names.indexOf('disconnect'));
    expect(stepsIn(orchestrator.calls)).toEqual([7]);
  });

  it('reports the end of a job although the server accepts no metrics', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    orchestrator.answers.metrics = () => refused(503);
    run.listeners.onFigures({ progress: { step: 1, loss: 0.5 }, gaps: [] }, false);
    run.end(0);
    expect((await orchestrator.reported('completed')).body).toMatchObject({ exit_code: 0 });
  });
});
