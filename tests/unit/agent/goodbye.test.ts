/** A call that arrives after the goodbye would count as the worker's return: nothing may follow it. */
import { expect, it } from 'vitest';
import { holdTime, passUntil, startBusy } from './agent-bench.ts';
import type { Answer, Call } from './scripted-orchestrator.ts';

holdTime();

const done: Answer = { status: 200, body: { success: true } };

/** A job has ended, its end is known, and an answer to what was said of it on the way is still to come. */
async function startLeaving() {
  const bench = await startBusy();
  const { orchestrator, run, agent } = bench;
  const answer = Promise.withResolvers<Answer>();
  orchestrator.answers.status = ({ body }: Call) => (body['status'] === 'running' ? answer.promise : done);
  const reports = orchestrator.count('status');
  run.ears.onProgress({ step: 5 });
  // Within a second of the word that was said at its start nothing is said.
  await passUntil(orchestrator.arrived('status', reports + 1));
  agent.leave();
  run.end(0);
  await orchestrator.reported('completed');
  return { ...bench, answer };
}

it('the goodbye waits for the answers that are still to come', async () => {
  const { orchestrator, exit, answer } = await startLeaving();
  const told: string[] = [];
  setTimeout(() => {
    told.push('answer');
    answer.resolve(done);
  }, 1_500);
  orchestrator.answers.disconnect = () => {
    told.push('goodbye');
    return done;
  };
  expect(await passUntil(exit)).toBe(0);
  expect(told).toEqual(['answer', 'goodbye']);
});

it('but not for ever', async () => {
  const { orchestrator, exit } = await startLeaving();
  expect(await passUntil(exit)).toBe(0);
  expect(orchestrator.count('disconnect')).toBe(1);
});
