import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, describe, it } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import { ownProcesses } from '../../../../agent/process/own-processes.ts';
import { type ProcessGroup, startGroup } from '../../../../agent/process/process-group.ts';

const parts = { processes: ownProcesses({}), clock: systemClock };
/** The pids of all processes that these tests start. They are killed after each test. */
const started: number[] = [];
afterAll(() => {
  for (const pid of started) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Zombies do not count as running. */
function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // There is no /proc here, or the process just ended.
    return isAlive(pid);
  }
}

const deaf = `process.on('SIGTERM', () => {}); process.on('SIGHUP', () => {});`;
/** Script of a process that starts a child, which starts a grandchild. Prints the pids of both when all three run. */
const family = (childDeaf: boolean, leaderThen: string): string => `
  const { spawn } = require('node:child_process');
  const grandchild = ${JSON.stringify(`${deaf} console.log(process.pid); setInterval(() => {}, 1000);`)};
  const child = ${JSON.stringify(`
    ${childDeaf ? deaf : ''}
    const { spawn } = require('node:child_process');
    spawn(process.execPath, ['-e', process.argv[1]], { stdio: ['ignore', 'pipe', 'ignore'] })
      .stdout.once('data', pid => console.log(process.pid + ' ' + pid));
    setInterval(() => {}, 1000);`)};
  spawn(process.execPath, ['-e', child, grandchild], { stdio: ['ignore', 'pipe', 'ignore'] })
    .stdout.once('data', pids => { console.log(String(pids).trim()); ${leaderThen} });`;

/** Starts such a process. Resolves with its pid and those of its descendants. */
async function start(
  script: string,
): Promise<{ readonly group: ProcessGroup; readonly others: readonly number[] }> {
  const argv = [process.execPath, '-e', script];
  const group = await startGroup({ argv, cwd: tmpdir(), env: { PATH: process.env['PATH'] } }, parts);
  let line = '';
  while (!line.includes('\n')) line += String((await once(group.stdout, 'data'))[0]);
  group.stdout.resume();
  const others = line.trim().split(' ').map(Number);
  started.push(group.pid, ...others);
  return { group, others };
}

// Without an init process that reaps orphans at once, these tests take long, so they run concurrently.
describe.concurrent('process trees', () => {
  it.for<[string, string, (group: ProcessGroup) => void]>([
    ['after the grace period when all ignore SIGTERM', deaf + family(true, ''), group => group.stop(200)],
    ['when only the leader obeys SIGTERM', family(true, ''), group => group.stop(500)],
    ['when the leader ends by itself', family(false, 'process.exit(0)'), () => {}],
    ['when the leader ends by itself, and they ignore SIGTERM', family(true, 'process.exit(0)'), () => {}],
    ['when the leader crashes', family(true, `process.kill(process.pid, 'SIGKILL')`), () => {}],
  ])('ends children and grandchildren %s', async ([_what, script, end], { expect }) => {
    const { group, others } = await start(script);
    expect(others).toHaveLength(2);
    end(group);
    await group.exited;
    expect([group.pid, ...others].filter(isRunning)).toEqual([]);
  });

  it('reports the end although a detached process holds the output', async ({ expect }) => {
    const { group, others } = await start(`
      const { spawn } = require('node:child_process');
      const options = { detached: true, stdio: 'inherit' };
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], options);
      child.unref();
      console.log(child.pid);`);
    expect(await group.exited).toEqual({ code: 0, signal: null });
    expect(others.filter(isRunning)).toEqual(others);
  });
});
