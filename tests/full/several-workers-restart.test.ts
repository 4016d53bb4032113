/** kill -9 of the agent of the second worker, in each phase of an attempt on two workers. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attemptId, jobId, offerOf, writeFile } from '../unit/agent/builders.ts';
import { isAlive, type Rig, startRig, until } from '../unit/agent/guard-rig.ts';

/** Script of a trainer that runs until a file appears. */
const training = `
  let n = 0;
  const timer = setInterval(() => {
    step((n += 1));
    if (n === 3) note('ready', process.env.MASTER_ADDR + ' ' + process.env.NODE_RANK);
    if (fileExists('enough')) { clearInterval(timer); console.log('done with it'); process.exitCode = Number(readFileSync(join(__dirname, 'enough'), 'utf8')); }
  }, 50);`;

/** Starts the agent of the second worker. Resolves when this worker is ready and waits for the first worker's address. */
async function startWaiting(rig: Rig) {
  const agent = rig.startAgent();
  await agent.waitForLine(/^Connected/);
  rig.orchestrator.push(offerOf('j1', 'a1', { node: { rank: 1, count: 2 } }));
  await rig.orchestrator.until(({ body }) => body['ready'] !== undefined);
  return agent;
}

async function startTraining(rig: Rig) {
  const agent = await startWaiting(rig);
  rig.orchestrator.push({
    type: 'job_rendezvous',
    job_id: jobId('j1'),
    attempt_id: attemptId('a1'),
    address: '192.0.2.7',
    port: 29_501,
  });
  // The trainer creates the file before it writes to it.
  const addressAndRank = await until(async () => (await rig.note('ready')) || null);
  expect(addressAndRank).toBe('192.0.2.7 1');
  await rig.orchestrator.reported('running');
  return agent;
}

async function kill(agent: ReturnType<Rig['startAgent']>): Promise<void> {
  agent.kill('SIGKILL');
  await agent.exited;
}

const finish = ({ folder }: Rig, code: number): string => writeFile(folder, 'enough', String(code));
const registrationBody = async ({ orchestrator }: Rig) => (await orchestrator.nth('register', 2)).body;

/** Returns the calls that only the first worker of an attempt may send. */
const callsOfFirstWorker = ({ orchestrator }: Rig): readonly unknown[] =>
  orchestrator.calls.filter(
    ({ name, body }) =>
      name === 'logs' ||
      name === 'metrics' ||
      body['progress'] !== undefined ||
      body['job_progress'] !== undefined,
  );

/** Waits until the run folder is deleted. Expects that the log stays in the job folder, and was not sent. */
async function expectKeptLog(rig: Rig): Promise<void> {
  await until(() => (existsSync(rig.run.path) ? null : true));
  expect(readFileSync(join(rig.stateDir, 'jobs/j1.node-1/trainer.log'), 'utf8')).toContain('done with it');
  expect(callsOfFirstWorker(rig)).toEqual([]);
}

describe('the second worker of an attempt, whose agent is killed', () => {
  test('registers without an attempt when the second worker was killed while it waited for the first worker', async () => {
    const rig = await startRig(training);
    await kill(await startWaiting(rig));
    rig.startAgent();
    expect(await registrationBody(rig)).toMatchObject({ current_job_id: null, current_attempt_id: null });
    expect(existsSync(join(rig.folder, 'started'))).toBe(false);
  }, 30_000);

  test('adopts the trainer of the restarted second worker, and reports the end without progress or log', async () => {
    const rig = await startRig(training);
    await kill(await startTraining(rig));
    const trainer = await rig.trainer();
    await rig.startAgent().waitForLine(/^Job j1 goes on/);
    expect(await registrationBody(rig)).toMatchObject({ current_job_id: 'j1', current_attempt_id: 'a1' });
    expect(await isAlive(trainer)).toBe(true);
    finish(rig, 0);
    expect((await rig.orchestrator.reported('completed')).body).toMatchObject({ exit_code: 0 });
    await expectKeptLog(rig);
  }, 30_000);

  test('stops the trainer that the restarted second worker has adopted when the job is cancelled', async () => {
    const rig = await startRig(training);
    await kill(await startTraining(rig));
    await rig.startAgent().waitForLine(/^Job j1 goes on/);
    await rig.orchestrator.nth('stream', 2);
    rig.orchestrator.push({ type: 'job_cancel', job_id: jobId('j1'), attempt_id: attemptId('a1') });
    expect((await rig.orchestrator.reported('cancelled')).body).toMatchObject({ signal: 'SIGTERM' });
    expect(callsOfFirstWorker(rig)).toEqual([]);
  }, 30_000);

  test('reports the end of a trainer that ended while the agent of the second worker was dead', async () => {
    const rig = await startRig(training);
    const agent = await startTraining(rig);
    const guard = await rig.guard();
    await kill(agent);
    finish(rig, 7);
    await until(async () => ((await isAlive(guard)) ? null : true));
    rig.startAgent();
    expect((await rig.orchestrator.reported('failed')).body).toMatchObject({
      exit_code: 7,
      error: expect.stringContaining('done with it'),
    });
    await expectKeptLog(rig);
  }, 30_000);

  test('repeats the final report when the second worker was killed before the answer', async () => {
    const rig = await startRig(training);
    const agent = await startTraining(rig);
    const { status } = rig.orchestrator.answers;
    rig.orchestrator.answers.status = () => new Promise(() => {});
    finish(rig, 0);
    await until(() =>
      rig.orchestrator.calls.some(({ body }) => body['status'] === 'completed') ? true : null,
    );
    await kill(agent);
    rig.orchestrator.answers.status = status;
    rig.startAgent();
    expect((await rig.orchestrator.reported('completed')).body).toMatchObject({ exit_code: 0 });
    await expectKeptLog(rig);
  }, 30_000);
});
