/** `npm start` loads the server while it builds the panel. The server must not open anything before the panel exists. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { cliFile } from '../support/program-files.ts';
import { temporaryFolder } from '../support/processes.ts';

function startLoading(channel: 'ipc' | 'ignore'): { child: ChildProcess; dataDir: string } {
  const dataDir = join(temporaryFolder(), 'data');
  const child = spawn(
    process.execPath,
    [cliFile, 'server', '--once-told', '--json', '--port', '0', '--data-dir', dataDir],
    { stdio: ['ignore', 'pipe', 'ignore', channel] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, dataDir };
}

test('opens the server only after the message of its parent process', async () => {
  const { child, dataDir } = startLoading('ipc');
  if (child.stdout === null) throw new Error('the server has no pipe for stdout');
  const ready = once(createInterface({ input: child.stdout }), 'line');
  child.send('go on');
  expect(JSON.parse(String((await ready)[0]))).toMatchObject({ ready: true, data_dir: dataDir });
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test('exits without creating a data folder when its parent process disconnects or does not exist', async () => {
  for (const channel of ['ipc', 'ignore'] as const) {
    const { child, dataDir } = startLoading(channel);
    const ended = once(child, 'exit');
    if (channel === 'ipc') child.disconnect();
    expect(await ended).toEqual([1, null]);
    expect(existsSync(dataDir)).toBe(false);
  }
});
