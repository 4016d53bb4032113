import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAlive, type Rig, startRig, reportedSteps, until } from '../unit/agent/guard-rig.ts';
import { refused, registerReply } from '../unit/agent/scripted-orchestrator.ts';
import { offerOf, writeFile } from '../unit/agent/builders.ts';

/** Script of a trainer that runs until a file appears. */
const training = `
  let n = 0;
  const timer = setInterval(() => {
    step((n += 1));
    if (n === 3) note('ready', '');
    if (fileExists('enough')) { clearInterval(timer); console.log('done with it'); process.exitCode = Number(readFileSync(join(__dirname, 'enough'), 'utf8')); }
  }, 50);`;

const finish = ({ folder }: Rig, code: number): string => writeFile(folder, 'enough', String(code));
const registrationBody = async ({ orchestrator }: Rig, nth: number) =>
  (await orchestrator.nth('register', nth)).body;

describe('an agent that is killed and started again', () => {
  test('adopts the running trainer after a kill, and reports its progress and end', async () => {
    const rig = await startRig(training);
    const first = await rig.startAgentWithJob();
    const trainer = await rig.trainer();
    await until(() => (reportedSteps(rig).length > 0 ? true : null));
    first.kill('SIGKILL');
    await first.exited;
    const before = reportedSteps(rig).at(-1) ?? 0;

    const second = rig.startAgent();
    await second.waitForLine(new RegExp(`^Job j1 goes on: sample \\(pid ${trainer.pid}\\)`));
    expect(await registrationBody(rig, 2)).toMatchObject({
      current_job_id: 'j1',
      current_attempt_id: 'a1',
      instance_id: (await registrationBody(rig, 1))['instance_id'],
    });
    expect((await registrationBody(rig, 2))['start_id']).not.toBe(
      (await registrationBody(rig, 1))['start_id'],
    );
    const count = reportedSteps(rig).length;
    await until(() => (reportedSteps(rig).length > count + 1 ? true : null));
    expect(await isAlive(trainer)).toBe(true);
    // The agent reports only the newest of the steps that the trainer made without an agent.
    expect(reportedSteps(rig)[count]).toBeGreaterThan(before);
    finish(rig, 0);
    expect((await rig.orchestrator.reported('completed')).body).toMatchObject({
      attempt_id: 'a1',
      exit_code: 0,
    });
    expect(await rig.note('started')).toBe(String(trainer.pid));
    await until(() => (existsSync(rig.run.path) ? null : true));
  }, 30_000);

  test('reports exit code, last lines and progress of a trainer that ended while the agent was dead', async () => {
    const rig = await startRig(training);
    const first = await rig.startAgentWithJob();
    const guard = await rig.guard();
    first.kill('SIGKILL');
    await first.exited;
    finish(rig, 7);
    await until(async () => ((await isAlive(guard)) ? null : true));
    rig.startAgent();
    expect((await rig.orchestrator.reported('failed')).body).toMatchObject({
      attempt_id: 'a1',
      exit_code: 7,
      error: expect.stringMatching(/^Training exited with code 7\n[^]*done with it/),
      progress: { step: expect.any(Number), total_steps: 1000 },
    });
    expect(rig.orchestrator.calls.filter(({ body }) => body['status'] === 'failed')).toHaveLength(1);
  }, 30_000);

  test('exits after the adopted job when the restarted agent is not persistent', async () => {
    const rig = await startRig(training);
    const first = await rig.startAgentWithJob();
    first.kill('SIGKILL');
    await first.exited;
    const second = rig.startAgent([], { SIMPLETUNER_WORKER_PERSISTENT: '' });
    await second.waitForLine(/goes on/);
    finish(rig, 0);
    await rig.orchestrator.reported('completed');
    expect(await second.exited).toEqual({ code: 0, signal: null });
    expect(readdirSync(join(rig.stateDir, 'runs'))).toEqual([]);
  }, 30_000);
});

test('exits immediately without a goodbye when the agent gets SIGUSR2, and the next agent adopts the training', async () => {
  const rig = await startRig(training);
  const first = await rig.startAgentWithJob();
  const trainer = await rig.trainer();
  first.kill('SIGUSR2');
  expect(await first.exited).toEqual({ code: 0, signal: null });
  expect(rig.orchestrator.count('disconnect')).toBe(0);
  expect(await isAlive(trainer)).toBe(true);
  const second = rig.startAgent();
  await second.waitForLine(new RegExp(`goes on: sample \\(pid ${trainer.pid}\\)`));
  finish(rig, 0);
  await rig.orchestrator.reported('completed');
}, 30_000);

test('exits with 0 when the agent gets SIGUSR2 while it still probes its GPUs', async () => {
  const rig = await startRig(training);
  const probe = writeFile(
    rig.folder,
    'nvidia-smi',
    '#!/bin/sh\ncd "$(dirname "$0")" && touch probing && while [ ! -e go-on ]; do sleep 0.05; done; exit 9\n',
  );
  chmodSync(probe, 0o755);
  const agent = rig.startAgent([], { PATH: `${rig.folder}:${process.env['PATH']}` });
  await rig.note('probing');
  agent.kill('SIGUSR2');
  writeFile(rig.folder, 'go-on', '');
  expect(await agent.exited).toEqual({ code: 0, signal: null });
  expect(rig.orchestrator.count('register')).toBe(0);
}, 30_000);

test('exits with 3 when the server refuses its token during a job, and an agent with a new token adopts the job', async () => {
  const rig = await startRig(training);
  const first = await rig.startAgentWithJob();
  const trainer = await rig.trainer();
  for (const call of ['register', 'stream', 'heartbeat', 'status'] as const)
    rig.orchestrator.answers[call] = () => refused(401);
  rig.orchestrator.endStream();
  expect(await first.exited).toEqual({ code: 3, signal: null });
  expect(await isAlive(trainer)).toBe(true);
  const { register } = rig.orchestrator.answers;
  expect(register).toBeDefined();
  rig.orchestrator.answers.register = call => (call.token === 'wt_2' ? registerReply() : refused(401));
  rig.orchestrator.answers.status = () => ({ status: 200, body: { success: true } });
  rig.orchestrator.answers.stream = () => ({ status: 200, body: {} });
  const second = rig.startAgent([], { SIMPLETUNER_WORKER_TOKEN: 'wt_2' });
  await second.waitForLine(new RegExp(`goes on: sample \\(pid ${trainer.pid}\\)`));
  await second.waitForLine(/^Connected/);
  finish(rig, 0);
  expect((await rig.orchestrator.reported('completed')).token).toBe('wt_2');
}, 30_000);

test('exits with 73 when another agent uses the same state folder, and names that agent', async () => {
  const rig = await startRig(training);
  const first = await rig.startAgentWithJob();
  const second = rig.startAgent();
  await second.waitForLine(new RegExp(`^Another worker \\(pid ${first.pid}\\) uses .*trainyard/rig`));
  expect((await second.exited).code).toBe(73);
  expect(rig.orchestrator.count('register')).toBe(1);
  finish(rig, 0);
  await rig.orchestrator.reported('completed');
}, 30_000);

test.runIf(process.platform === 'linux')(
  'runs guard and trainer in their own sessions, and exposes no secret in their files or arguments',
  async () => {
    const rig = await startRig(training);
    const agent = rig.startAgent([], { SIMPLETUNER_WORKER_TOKEN: 'wt_canary', MY_SECRET: 'canary_2' });
    await agent.waitForLine(/^Connected/);
    rig.orchestrator.push(offerOf('j1', 'a1', { hf_token: 'hf_canary', upload_token: 'ut_canary' }));
    await rig.note('ready');
    for (const file of readdirSync(rig.run.path))
      expect(readFileSync(join(rig.run.path, file), 'utf8')).not.toContain('canary');
    const readProcFile = (pid: number, name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8');
    for (const { pid } of [await rig.guard(), await rig.trainer()]) {
      // Fields of proc(5): state, parent, group, session. A hangup or Ctrl-C in a terminal does not reach another
      // session.
      const [, , group, session] = readProcFile(pid, 'stat')
        .replace(/^.*\) /s, '')
        .split(' ')
        .map(Number);
      expect([group, session]).toEqual([pid, pid]);
      expect(readProcFile(pid, 'cmdline')).not.toContain('canary');
      // The environment of the trainer contains the user's variables, but not the worker's token.
      expect(readProcFile(pid, 'environ')).toContain('MY_SECRET=canary_2');
      expect(readProcFile(pid, 'environ')).not.toContain('wt_canary');
    }
    finish(rig, 0);
    await rig.orchestrator.reported('completed');
  },
  30_000,
);
