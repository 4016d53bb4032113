import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CommandResult, RunCommand } from '../../../../agent/process/run-command.ts';
import { createProcesses, ownProcesses } from '../../../../agent/process/own-processes.ts';
import { isRunning, refOf } from '../../../../agent/process/processes.ts';
import { linuxProcesses } from '../../../../agent/process/processes-unix.ts';
import { tempFolder } from '../builders.ts';

const exited = (stdout: string, code = 0): CommandResult => ({ kind: 'exited', code, stdout, stderr: '' });

/** A fake command runner. `answer` returns each result, and `commandLines` records the calls. */
function createFakeRunner(answer: (commandLine: string) => CommandResult) {
  const commandLines: string[] = [];
  const run: RunCommand = async (command, args) => {
    const commandLine = [command, ...args].join(' ');
    commandLines.push(commandLine);
    return answer(commandLine);
  };
  return { commandLines, run };
}

const failedCommands: readonly CommandResult[] = [
  { kind: 'missing' },
  { kind: 'timed_out', timeoutMs: 10_000 },
  { kind: 'failed', message: 'EAGAIN' },
];

describe('this machine', () => {
  const processes = ownProcesses(process.env);

  it('identifies its own process, and distinguishes a later process with the same pid', async () => {
    const self = await processes.identify(process.pid);
    expect(self).toEqual({ pid: process.pid, start: expect.stringMatching(/./) });
    if (self === null) return;
    expect(await processes.identify(process.pid)).toEqual(self);
    expect(await isRunning(processes, self)).toBe(true);
    expect(await isRunning(processes, { ...self, start: `${self.start}0` })).toBe(false);
  });

  it('finds no process with an unused pid', async () => {
    expect(await processes.identify(2 ** 22 + 1)).toBeNull();
    expect(await processes.groupLives(2 ** 22 + 1)).toBe(false);
  });

  it.each([0, 1, -1])(
    'never signals group %i, because the signal would reach the agent itself or all processes',
    async pid => {
      await processes.signalGroup(pid, 'SIGTERM');
      expect(await processes.groupLives(pid)).toBe(false);
    },
  );
});

describe('Linux', () => {
  const stat = (pid: number, state: string, group: number, session: number, start: number): string =>
    `${pid} (a) b (c) ${state} 1 ${group} ${session} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ${start} 0 0\n`;
  const machineWith = (stats: Readonly<Record<number, string>>, boot = 'boot-1') => {
    const proc = tempFolder();
    mkdirSync(join(proc, 'sys/kernel/random'), { recursive: true });
    writeFileSync(join(proc, 'sys/kernel/random/boot_id'), `${boot}\n`);
    for (const [pid, text] of Object.entries(stats)) {
      mkdirSync(join(proc, pid));
      writeFileSync(join(proc, pid, 'stat'), text);
    }
    return { proc, processes: linuxProcesses(proc) };
  };
  const processesOf = (...args: Parameters<typeof machineWith>) => machineWith(...args).processes;

  it('parses a process name with brackets, and adds the boot id to the start time', async () => {
    const processes = processesOf({ 900: stat(900, 'S', 900, 900, 4711) });
    expect(await processes.identify(900)).toEqual({ pid: 900, start: 'boot-1/4711' });
    expect(await processes.identify(901)).toBeNull();
  });

  it.each([
    ['handles the signal', 'SigBlk:\t0000000000000000\nSigCgt:\t0000000000000200\n', 'gone'],
    ['blocks the signal and waits for it', 'SigBlk:\t0000000000000200\nSigCgt:\t0000000000000000\n', 'gone'],
    ['handles other signals', 'SigBlk:\t0000000000000000\nSigCgt:\tfffffffffffffdff\n', 'unheard'],
    ['reports no signals', '', 'unheard'],
  ])(
    'sends a signal only if the process listens to the signal: a process that %s',
    async (_title, status, answer) => {
      // The pid is above Linux's maximum, so no process has it. Sending a signal to this pid returns 'gone'.
      const pid = 2 ** 22 + 1;
      const { processes, proc } = machineWith({ [pid]: stat(pid, 'S', pid, pid, 7) });
      writeFileSync(join(proc, String(pid), 'status'), `Name:\tx\n${status}`);
      expect(await processes.signal({ pid, start: 'boot-1/7' }, 'SIGUSR1')).toBe(answer);
      expect(await processes.signal({ pid, start: 'boot-1/8' }, 'SIGUSR1')).toBe('gone');
      expect(await processes.signal({ pid: pid + 1, start: 'boot-1/7' }, 'SIGUSR1')).toBe('gone');
    },
  );

  it('treats zombies as ended', async () => {
    const processes = processesOf({ 900: stat(900, 'Z', 900, 900, 1), 901: stat(901, 'X', 901, 901, 1) });
    expect(await processes.identify(900)).toBeNull();
    expect(await processes.identify(901)).toBeNull();
  });

  it.each<[string, Readonly<Record<number, string>>, boolean]>([
    ['whose leader runs', { 900: stat(900, 'S', 900, 900, 7) }, true],
    ['whose leader is a later process', { 900: stat(900, 'S', 900, 900, 8) }, false],
    ['whose leader is gone, with a remaining child', { 901: stat(901, 'S', 900, 900, 9) }, true],
    ['whose id now belongs to a foreign group', { 901: stat(901, 'S', 900, 1, 9) }, false],
    ['with zombies only', { 900: stat(900, 'Z', 900, 900, 7) }, false],
    ['without processes', {}, false],
  ])('detects whether the agent still owns a group %s', async (_title, stats, isOwned) => {
    expect(await processesOf(stats).ownsGroup({ pid: 900, start: 'boot-1/7' })).toBe(isOwned);
  });

  it('owns no process from an earlier boot', async () => {
    const stats = { 900: stat(900, 'S', 900, 900, 7) };
    expect(await processesOf(stats, 'boot-2').ownsGroup({ pid: 900, start: 'boot-1/7' })).toBe(false);
    const child = { 901: stat(901, 'S', 900, 900, 7) };
    expect(await processesOf(child, 'boot-2').ownsGroup({ pid: 900, start: 'boot-1/7' })).toBe(false);
  });
});

describe('macOS', () => {
  const started = 'Fri Nov 21 15:43:53 2026';
  const machine = (answer: (commandLine: string) => CommandResult) => {
    const { commandLines, run } = createFakeRunner(answer);
    return { commandLines, processes: createProcesses({ platform: 'darwin', run }) };
  };

  it('queries the state and the start time with ps', async () => {
    const { commandLines, processes } = machine(() => exited(`Ss   ${started}\n`));
    expect(await processes.identify(900)).toEqual({ pid: 900, start: started });
    expect(commandLines).toEqual(['ps -o stat=,lstart= -p 900']);
    expect(await processes.ownsGroup({ pid: 900, start: started })).toBe(true);
    expect(await processes.ownsGroup({ pid: 900, start: 'Fri Nov 21 15:43:54 2026' })).toBe(false);
  });

  it('sends a signal only to the process with the given start time', async () => {
    const received = new Promise(resolve => process.once('SIGWINCH', resolve));
    const { processes } = machine(() => exited(`Ss   ${started}\n`));
    const self = { pid: process.pid, start: started };
    expect(await processes.signal({ ...self, start: 'another day' }, 'SIGWINCH')).toBe('gone');
    expect(await processes.signal(self, 'SIGWINCH')).toBe('sent');
    await received;
    expect(await processes.signal({ pid: 2 ** 22 + 1, start: started }, 'SIGWINCH')).toBe('gone');
  });

  it.each([
    ['no process', exited('', 1)],
    ['a zombie', exited(`Z+   ${started}\n`)],
  ])('finds no process when ps shows %s', async (_title, answer) => {
    expect(await machine(() => answer).processes.identify(900)).toBeNull();
  });

  it.each(failedCommands)(
    'throws instead of assuming an ended process when ps does not answer: $kind',
    async answer => {
      const { processes } = machine(() => answer);
      await expect(processes.identify(900)).rejects.toThrow('ps could not query process 900');
      // The pid may belong to another program now, so the agent does not signal this process.
      expect(await processes.ownsGroup({ pid: 900, start: started })).toBe(false);
    },
  );
});

describe('Windows', () => {
  const machine = (answer: (commandLine: string) => CommandResult) => {
    const { commandLines, run } = createFakeRunner(answer);
    return { commandLines, processes: createProcesses({ platform: 'win32', run }) };
  };
  const ticks = '133764382331234567';

  it('queries the start time with PowerShell', async () => {
    const { commandLines, processes } = machine(() => exited(`${ticks}\r\n`));
    expect(await processes.identify(900)).toEqual({ pid: 900, start: ticks });
    expect(commandLines).toEqual([
      'powershell -NoProfile -NonInteractive -Command (Get-Process -Id 900).StartTime.ToFileTimeUtc()',
    ]);
    expect(await processes.groupLives(900)).toBe(true);
    expect(await processes.ownsGroup({ pid: 900, start: ticks })).toBe(true);
    expect(await processes.ownsGroup({ pid: 900, start: '1' })).toBe(false);
  });

  it('ends a process tree with taskkill, first without and then with force', async () => {
    const { commandLines, processes } = machine(() => exited(''));
    await processes.signalGroup(900, 'SIGTERM');
    await processes.signalGroup(900, 'SIGKILL');
    expect(commandLines).toEqual(['taskkill /PID 900 /T', 'taskkill /PID 900 /T /F']);
  });

  it('sends no signals on Windows', async () => {
    const { commandLines, processes } = machine(() => exited(''));
    expect(await processes.signal({ pid: 900, start: ticks }, 'SIGUSR1')).toBe('unable');
    expect(commandLines).toEqual([]);
  });

  it('finds no process that PowerShell does not know', async () => {
    const { processes } = machine(() => exited('', 1));
    expect(await processes.identify(900)).toBeNull();
    expect(await processes.groupLives(900)).toBe(false);
  });

  it.each(failedCommands)(
    'throws instead of assuming an ended process when PowerShell does not answer: $kind',
    async answer => {
      const { processes } = machine(() => answer);
      await expect(processes.identify(900)).rejects.toThrow('PowerShell could not query process 900');
      expect(await processes.groupLives(900)).toBe(true);
      expect(await processes.ownsGroup({ pid: 900, start: ticks })).toBe(false);
    },
  );

  it('hides the console of a trainer, and detaches a guard', () => {
    const { processes } = machine(() => exited(''));
    expect(processes.asLeader).toEqual({ detached: false, windowsHide: true });
    expect(processes.asSurvivor).toEqual({ detached: true, windowsHide: true });
  });
});

it.each<[unknown, boolean]>([
  [{ pid: 7, start: 'x' }, true],
  [{ pid: 0, start: 'x' }, false],
  [{ pid: -7, start: 'x' }, false],
  [{ pid: 7.5, start: 'x' }, false],
  [{ pid: '7', start: 'x' }, false],
  [{ pid: 7, start: '' }, false],
  [{ pid: 7 }, false],
  [{}, false],
])('accepts the process reference %j from a file: %s', (fields, isAccepted) => {
  expect(refOf(fields as Record<string, unknown>) !== null).toBe(isAccepted);
});
