import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { offerOf, writeFile } from '../unit/agent/builders.ts';
import { type Rig, startRig, until } from '../unit/agent/guard-rig.ts';
import type { Answer, Call } from '../unit/agent/scripted-orchestrator.ts';
import { terminalText } from '../support/log-book.ts';

const mib = 1024 * 1024;
const secret = `hf_${'aB3'.repeat(12)}`;

/** Script of a trainer that prints numbered lines, secrets and progress bars until a file appears. */
const chattyTrainer = `
  let n = 0;
  const timer = setInterval(() => {
    n += 1;
    process.stdout.write('line ' + n + ' of ' + (process.env.HF_TOKEN ?? 'nobody') + '\\n');
    for (let i = 0; i < 10; i += 1) process.stdout.write('\\rbar ' + n + '.' + i + ' [1s]');
    process.stdout.write('\\n');
    if (n === 3) note('ready', '');
    if (fileExists('enough')) { clearInterval(timer); process.stdout.write('the last word'); note('printed', String(n)); }
  }, 20);`;

const finish = ({ folder }: Rig): string => writeFile(folder, 'enough', '');
const untilComplete = ({ orchestrator }: Rig, attempt = 'a1'): Promise<true> =>
  until(() => (orchestrator.logs.of(attempt).isComplete ? true : null), 40_000);
const untilDeleted = (path: string): Promise<true> => until(() => (existsSync(path) ? null : true), 40_000);

/** Answers the log chunks of this attempt with 503 until the returned function is called. */
function refuseLogs({ orchestrator: { answers, logs } }: Rig, attempt: string) {
  let isHeld = true;
  answers.logs = ({ body }: Call): Answer =>
    isHeld && body['attempt_id'] === attempt
      ? { status: 503, body: {} }
      : { status: 200, body: { success: true, next: logs.accept(body) } };
  return (): void => void (isHeld = false);
}

describe('trainer output', () => {
  test('delivers every line of a log exactly once across a kill of the agent and an outage of the orchestrator', async () => {
    const rig = await startRig(chattyTrainer);
    const { logs } = rig.orchestrator;
    const first = await rig.startAgentWithJob({ hf_token: secret });
    await until(() => (logs.of().text.includes('line 20 ') ? true : null));
    first.kill('SIGKILL');
    await first.exited;
    const before = logs.of().next;
    const second = rig.startAgent();
    await second.waitForLine(/^Job j1 goes on/);
    await until(() => (logs.of().next > before ? true : null));
    rig.orchestrator.setUnreachable(true);
    const { next } = logs.of();
    await second.waitForLine(/Trying again/);
    rig.orchestrator.setUnreachable(false);
    await until(() => (logs.of().next > next ? true : null), 40_000);
    finish(rig);
    await rig.orchestrator.reported('completed');
    await untilComplete(rig);
    const last = Number(await rig.note('printed'));
    const expectedLines = Array.from(
      { length: last },
      (_, n) => `line ${n + 1} of [redacted]\nbar ${n + 1}.9 [1s]\n`,
    );
    expect(terminalText(logs.of().text)).toBe(`${expectedLines.join('')}the last word`);
    expect(logs.of().gaps).toEqual([]);
    await untilDeleted(rig.run.path);
    // The log on the rig still contains the secrets. Only its owner can read it.
    expect(readFileSync(join(rig.stateDir, 'jobs/j1/trainer.log'), 'utf8')).toContain(secret);
  }, 120_000);

  test('delivers a delayed log after the next attempt in the same folder and a restart of the agent', async () => {
    const rig = await startRig(chattyTrainer);
    const { logs } = rig.orchestrator;
    const release = refuseLogs(rig, 'a1');
    const first = await rig.startAgentWithJob();
    finish(rig);
    await rig.orchestrator.reported('completed', 'a1');
    rig.orchestrator.push(offerOf('j1', 'a2'));
    await rig.orchestrator.reported('completed', 'a2');
    await untilComplete(rig, 'a2');
    expect(logs.of('a2').text.startsWith('line 1 of nobody\n')).toBe(true);
    expect(logs.of('a1').text).toBe('');
    expect(readdirSync(join(rig.stateDir, 'runs'))).toContain('a1');
    expect(readdirSync(join(rig.stateDir, 'jobs/j1'))).toEqual(
      expect.arrayContaining(['trainer-a2.log', 'trainer.log']),
    );
    first.kill('SIGKILL');
    await first.exited;
    release();
    rig.startAgent();
    await untilComplete(rig, 'a1');
    expect(logs.of('a1').text.startsWith('line 1 of nobody\n')).toBe(true);
    expect(logs.of('a1').text.endsWith('the last word')).toBe(true);
    await untilDeleted(rig.run.path);
  }, 120_000);

  test('delivers the complete log before an ephemeral worker leaves', async () => {
    const rig = await startRig(chattyTrainer);
    const agent = rig.startAgent([], { SIMPLETUNER_WORKER_PERSISTENT: 'false' });
    await agent.waitForLine(/^Connected/);
    rig.orchestrator.push(offerOf('j1', 'a1'));
    await rig.note('ready');
    finish(rig);
    expect(await agent.exited).toMatchObject({ code: 0 });
    expect(rig.orchestrator.logs.of().isComplete).toBe(true);
    expect(rig.orchestrator.calls.at(-1)?.name).toBe('disconnect');
    expect(existsSync(rig.run.path)).toBe(false);
  }, 60_000);
});

const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

describe.skipIf(process.platform !== 'linux')('an agent with a verbose trainer', () => {
  test.each([
    [
      '20 MB per second',
      `const piece = Buffer.alloc(${mib}, 'lorem ipsum dolor sit amet, and so on\\n');`,
      100,
    ],
    ['one line of 50 MB', `const piece = Buffer.alloc(${mib}, 'x');`, 50],
    [
      'binary data',
      `const piece = Buffer.from(Array.from({ length: ${mib} }, (_, n) => (n * 7919) >> 3));`,
      50,
    ],
    ['endless progress bars', `const piece = Buffer.alloc(${mib}, ' 45%|####      | 450/1000\\r');`, 50],
  ])(
    'bounds its memory and keeps sending heartbeats while a trainer prints %s',
    async (_what, definePiece, times) => {
      const rig = await startRig(`
      ${definePiece}
      let left = ${times};
      note('ready', '');
      const print = () => {
        if (!fileExists('go')) return setTimeout(print, 50);
        left -= 1;
        process.stdout.write(piece, () => (left > 0 ? setTimeout(print, 40) : process.stdout.write('\\nthe end')));
      };
      print();`);
      const agent = await rig.startAgentWithJob();
      const { logs } = rig.orchestrator;
      await until(() => (rig.orchestrator.count('heartbeat') > 1 ? true : null));
      const before = peakOf(agent.pid);
      writeFile(rig.folder, 'go', '');
      const heartbeatsBefore = rig.orchestrator.count('heartbeat');
      const startedAt = performance.now();
      await rig.orchestrator.reported('completed');
      await untilComplete(rig);
      const seconds = (performance.now() - startedAt) / 1_000;
      expect(rig.orchestrator.count('heartbeat') - heartbeatsBefore).toBeGreaterThan(seconds / 4);
      const growth = (peakOf(agent.pid) - before) / mib;
      // The memory of the agent, including that for parsing metrics, does not grow with the output. Three times as much
      // output needs no more memory.
      expect(
        growth,
        `growth in MiB within ${seconds.toFixed(1)} s, with ${logs.of().gaps.length} gaps`,
      ).toBeLessThan(120);
      const { text, next } = logs.of();
      expect(next).toBeGreaterThan(times * mib);
      expect(text.endsWith('\nthe end')).toBe(true);
    },
    180_000,
  );
});
