import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readExit } from '../../agent/guard/guard-files.ts';
import { attemptId, jobId } from '../unit/agent/builders.ts';
import { isAlive, type Rig, startRig, until, untilGone } from '../unit/agent/guard-rig.ts';
import { refused } from '../unit/agent/scripted-orchestrator.ts';

/** Script of a trainer that ignores SIGTERM, like its child and grandchild. The trainer is ready when all three run. */
const stubbornFamily = `
  ignoreSigterm();
  startDescendants(() => note('ready', ''));
  setInterval(() => note('tick', ''), 50);`;
/** Script of a trainer that ends on SIGTERM. */
const obeyingTrainer = `note('ready', ''); setInterval(() => step(1), 200);`;

const cancel = ({ orchestrator }: Rig): void =>
  orchestrator.push({ type: 'job_cancel', job_id: jobId('j1'), attempt_id: attemptId('a1') });
const reportsOfStatus = ({ orchestrator }: Rig, status: string) =>
  orchestrator.calls.filter(({ body }) => body['status'] === status);

describe('stopping a trainer', () => {
  test('kills a trainer and all its descendants after the grace period when they ignore SIGTERM', async () => {
    const rig = await startRig(stubbornFamily, { graceMs: 500 });
    await rig.startAgentWithJob();
    const trainer = await rig.trainer();
    cancel(rig);
    expect((await rig.orchestrator.reported('cancelled')).body).toMatchObject({ signal: 'SIGKILL' });
    // The agent reports the end only when no process is left.
    expect(await untilGone(trainer)).toBeLessThan(200);
  }, 30_000);

  test('completes a stop through the guard when the agent dies, and reports the stop through the next agent', async () => {
    const rig = await startRig(stubbornFamily, { graceMs: 2_000 });
    const first = await rig.startAgentWithJob();
    const [guard, trainer] = [await rig.guard(), await rig.trainer()];
    cancel(rig);
    await rig.note('sigterm');
    first.kill('SIGKILL');
    await first.exited;
    expect(await isAlive(trainer)).toBe(true);
    await untilGone(trainer);
    await until(async () => ((await isAlive(guard)) ? null : true));
    expect(readExit(rig.run)).toMatchObject({ signal: 'SIGKILL', stopped: 'cancel' });
    rig.startAgent();
    expect((await rig.orchestrator.reported('cancelled')).body).toMatchObject({ attempt_id: 'a1' });
  }, 30_000);

  test('signals the trainer directly when the stop file cannot be written', async () => {
    const rig = await startRig(obeyingTrainer);
    await rig.startAgentWithJob();
    mkdirSync(join(rig.run.path, 'stop.json'));
    cancel(rig);
    expect((await rig.orchestrator.reported('cancelled')).body).toMatchObject({ signal: 'SIGTERM' });
  }, 30_000);

  test('stops a superseded training that a restarted agent finds, and sends no final report', async () => {
    const rig = await startRig(obeyingTrainer);
    const first = await rig.startAgentWithJob();
    const trainer = await rig.trainer();
    first.kill('SIGKILL');
    await first.exited;
    rig.orchestrator.answers.status = () => refused(409, 'stop');
    rig.startAgent();
    await untilGone(trainer);
    await until(() => (readExit(rig.run) === null ? true : null));
    expect(['completed', 'failed', 'cancelled'].flatMap(status => reportsOfStatus(rig, status))).toEqual([]);
  }, 30_000);
});

describe('a killed guard', () => {
  test('ends the training and reports it as lost when only its guard is killed', async () => {
    const rig = await startRig(obeyingTrainer);
    await rig.startAgentWithJob();
    const trainer = await rig.trainer();
    process.kill((await rig.guard()).pid, 'SIGKILL');
    expect((await rig.orchestrator.reported('failed')).body).toMatchObject({
      cause: 'worker_lost',
      error: expect.stringContaining('guard of the training'),
    });
    expect(await untilGone(trainer)).toBeLessThan(200);
  }, 30_000);

  test('ends the orphaned training before the restarted agent registers, and registers without a job', async () => {
    const rig = await startRig(stubbornFamily);
    const first = await rig.startAgentWithJob();
    const trainer = await rig.trainer();
    process.kill((await rig.guard()).pid, 'SIGKILL');
    first.kill('SIGKILL');
    await first.exited;
    rig.orchestrator.answers.register = async call => {
      expect(call.body).toMatchObject({ current_job_id: null, current_attempt_id: null });
      expect(await untilGone(trainer)).toBeLessThan(200);
      return refused(503);
    };
    rig.startAgent();
    await rig.orchestrator.nth('register', 2);
    expect(reportsOfStatus(rig, 'failed')).toEqual([]);
    await until(() => (readExit(rig.run) === null ? true : null));
  }, 30_000);
});

describe('on_lost_contact: stop', () => {
  const offer = { on_lost_contact: 'stop' as const };
  const contactLimits = { timeoutMs: 4_000, graceMs: 1_000 };

  test('stops a training when the contact timeout has passed since the last answered heartbeat of a suspended agent', async () => {
    const rig = await startRig(stubbornFamily, contactLimits);
    const agent = await rig.startAgentWithJob(offer);
    const [guard, trainer] = [await rig.guard(), await rig.trainer()];
    onTestFinished(() => agent.kill('SIGCONT'));
    // Wait for three heartbeats, about 3 s. If heartbeats did not restart the timeout, the trainer would end within 2 s.
    await rig.orchestrator.nth('heartbeat', rig.orchestrator.count('heartbeat') + 3);
    agent.kill('SIGSTOP');
    const goneAfterMs = await untilGone(trainer);
    expect(goneAfterMs).toBeGreaterThan(2_500);
    expect(goneAfterMs).toBeLessThan(contactLimits.timeoutMs + contactLimits.graceMs + 1_500);
    await until(async () => ((await isAlive(guard)) ? null : true));
    agent.kill('SIGCONT');
    expect((await rig.orchestrator.reported('failed')).body).toMatchObject({
      cause: 'worker_lost',
      signal: 'SIGKILL',
      error: expect.stringMatching(/^Stopped because contact .* was lost/),
    });
  }, 40_000);

  test('stops a training when the orchestrator stops answering', async () => {
    const rig = await startRig(obeyingTrainer, { timeoutMs: 2_000, graceMs: 500 });
    await rig.startAgentWithJob(offer);
    const trainer = await rig.trainer();
    rig.orchestrator.setUnreachable(true);
    await untilGone(trainer);
    rig.orchestrator.setUnreachable(false);
    expect((await rig.orchestrator.reported('failed')).body).toMatchObject({ cause: 'worker_lost' });
  }, 40_000);
});
