import { expect, test } from 'vitest';
import { nativeWindowsProcesses } from '../../../../agent/process/processes-windows.ts';
import type { RunCommand } from '../../../../agent/process/run-command.ts';
import type { WindowsApi } from '../../../../agent/process/windows-api.ts';

const ownPid = 40;

/** A fake Windows with the processes 40 and 50. Tests add members to the job object. */
function openWindows({ refusesJobs = false } = {}) {
  const starts = new Map([
    [ownPid, '100'],
    [50, '200'],
  ]);
  const members = new Set<number>();
  const calls: string[] = [];
  const api: WindowsApi = {
    startOf: pid => starts.get(pid) ?? null,
    enterJob() {
      calls.push('enter job');
      if (refusesJobs) return null;
      members.add(ownPid);
      return {
        members: () => [...members],
        end(pid) {
          calls.push(`end ${pid}`);
          members.delete(pid);
        },
      };
    },
    pressBreak(pid) {
      calls.push(`break ${pid}`);
      return true;
    },
  };
  const run: RunCommand = async (command, args) => {
    calls.push([command, ...args].join(' '));
    return { kind: 'exited', code: 0, stdout: '', stderr: '' };
  };
  const ignoreBreak = (): void => void calls.push('ignore break');
  return { members, calls, processes: nativeWindowsProcesses({ api, run, pid: ownPid, ignoreBreak }) };
}

test('ends all members of the job object except the guard itself, also members whose parent has ended', async () => {
  const { members, calls, processes } = openWindows();
  processes.holdDescendants();
  for (const pid of [50, 60, 70]) members.add(pid);
  await processes.signalGroup(50, 'SIGKILL');
  expect(calls).toEqual(['enter job', 'end 50', 'end 60', 'end 70']);
  expect(await processes.groupLives(50)).toBe(false);
});

test('regards a group as alive until its last member has ended, even without its leader', async () => {
  const { members, processes } = openWindows();
  processes.holdDescendants();
  expect(await processes.groupLives(50)).toBe(false);
  members.add(60);
  expect(await processes.groupLives(50)).toBe(true);
});

test('sends Ctrl+Break for a graceful stop, after the guard has started to ignore Ctrl+Break', async () => {
  const { calls, processes } = openWindows();
  processes.holdDescendants();
  await processes.signalGroup(50, 'SIGTERM');
  expect(calls).toEqual(['enter job', 'ignore break', 'break 50']);
});

test('enters only one job object', () => {
  const { calls, processes } = openWindows();
  processes.holdDescendants();
  processes.holdDescendants();
  expect(calls).toEqual(['enter job']);
});

test('identifies processes by their start time without starting a program', async () => {
  const { calls, processes } = openWindows();
  expect(await processes.identify(50)).toEqual({ pid: 50, start: '200' });
  expect(await processes.identify(51)).toBeNull();
  expect(await processes.ownsGroup({ pid: 50, start: '200' })).toBe(true);
  expect(await processes.ownsGroup({ pid: 50, start: '201' })).toBe(false);
  expect(calls).toEqual([]);
});

test.each([
  ['outside of a job object, as in the agent', false],
  ['when Windows refuses the job object', true],
])('ends a process tree with taskkill %s', async (_title, refusesJobs) => {
  const { calls, processes } = openWindows({ refusesJobs });
  if (refusesJobs) processes.holdDescendants();
  await processes.signalGroup(50, 'SIGKILL');
  expect(calls.at(-1)).toBe('taskkill /PID 50 /T /F');
  expect(await processes.groupLives(50)).toBe(true);
  expect(await processes.groupLives(51)).toBe(false);
});
