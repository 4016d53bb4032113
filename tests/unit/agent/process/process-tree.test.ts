import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, describe, it } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import { ownProcesses } from '../../../../agent/process/own-processes.ts';
import { type ProcessGroup, startGroup } from '../../../../agent/process/process-group.ts';

const deps = { processes: ownProcesses({}), clock: systemClock };
/** The pids of all processes that these tests start. The processes are killed after all tests. */
const startedPids: number[] = [];
afterAll(() => {
  for (const pid of startedPids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Returns whether the process runs. A zombie does not count as running. */
function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // This system has no /proc, or the process has just ended.
    return isAlive(pid);
  }
}

const ignoreSignals = `process.on('SIGTERM', () => {}); process.on('SIGHUP', () => {});`;
/**
 * Returns the script of a process that starts a child, which starts a grandchild. When all three run, the process prints
 * the pids of child and grandchild, and runs `leaderCode`. The grandchild ignores signals.
 */
const processTree = (childIgnoresSignals: boolean, leaderCode: string): string => `
  const { spawn } = require('node:child_process');
  const grandchild = ${JSON.stringify(`${ignoreSignals} console.log(process.pid); setInterval(() => {}, 1000);`)};
  const child = ${JSON.stringify(`
    ${childIgnoresSignals ? ignoreSignals : ''}
    const { spawn } = require('node:child_process');
    spawn(process.execPath, ['-e', process.argv[1]], { stdio: ['ignore', 'pipe', 'ignore'] })
      .stdout.once('data', pid => console.log(process.pid + ' ' + pid));
    setInterval(() => {}, 1000);`)};
  spawn(process.execPath, ['-e', child, grandchild], { stdio: ['ignore', 'pipe', 'ignore'] })
    .stdout.once('data', pids => { console.log(String(pids).trim()); ${leaderCode} });`;

/** Starts a process with this script. Resolves with its group and the pids of its descendants. */
async function start(
  script: string,
): Promise<{ readonly group: ProcessGroup; readonly descendants: readonly number[] }> {
  const argv = [process.execPath, '-e', script];
  const group = await startGroup({ argv, cwd: tmpdir(), env: { PATH: process.env['PATH'] } }, deps);
  let line = '';
  while (!line.includes('\n')) line += String((await once(group.stdout, 'data'))[0]);
  group.stdout.resume();
  const descendants = line.trim().split(' ').map(Number);
  startedPids.push(group.pid, ...descendants);
  return { group, descendants };
}

// These tests run concurrently. Each takes long on systems whose init process removes ended orphans late.
describe.concurrent('process trees', () => {
  it.for<[string, string, (group: ProcessGroup) => void]>([
    [
      'after the grace period when all ignore SIGTERM',
      ignoreSignals + processTree(true, ''),
      group => group.stop(200),
    ],
    ['when only the leader obeys SIGTERM', processTree(true, ''), group => group.stop(500)],
    ['when the leader exits', processTree(false, 'process.exit(0)'), () => {}],
    ['when the leader exits, and all others ignore SIGTERM', processTree(true, 'process.exit(0)'), () => {}],
    ['when the leader crashes', processTree(true, `process.kill(process.pid, 'SIGKILL')`), () => {}],
  ])('ends children and grandchildren %s', async ([_title, script, end], { expect }) => {
    const { group, descendants } = await start(script);
    expect(descendants).toHaveLength(2);
    end(group);
    await group.exited;
    expect([group.pid, ...descendants].filter(isRunning)).toEqual([]);
  });

  it('reports the end of the leader although a detached process keeps the output open', async ({
    expect,
  }) => {
    const { group, descendants } = await start(`
      const { spawn } = require('node:child_process');
      const options = { detached: true, stdio: 'inherit' };
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], options);
      child.unref();
      console.log(child.pid);`);
    expect(await group.exited).toEqual({ code: 0, signal: null });
    expect(descendants.filter(isRunning)).toEqual(descendants);
  });
});
