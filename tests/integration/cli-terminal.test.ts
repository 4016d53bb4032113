/** The command line on a real terminal: questions, and the keys that answer or interrupt them. */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isAlive } from '../support/own-processes.ts';
import { cliFile } from '../support/program-files.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/** `script` of util-linux runs a program on a new terminal. */
const hasScript = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await server.createWorker({ name: 'rig-1' });
});
afterAll(() => server.close());

/**
 * Runs a command, and types `keys` when the screen shows `prompt`. Resolves with the content of the screen and the exit
 * code.
 */
async function runOnTerminal(args: readonly string[], prompt: string, keys: string) {
  const words = [process.execPath, cliFile, ...args, '--data-dir', server.dataDir];
  const line = words.map(word => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let screen = '';
  let hasTyped = false;
  child.stdout.on('data', text => {
    screen += String(text);
    if (hasTyped || !screen.includes(prompt)) return;
    hasTyped = true;
    child.stdin.write(keys);
  });
  const code = await new Promise(resolve => child.once('close', resolve));
  return { code, screen: screen.replaceAll('\r', '') };
}

describe.skipIf(!hasScript)('the command line on a terminal', () => {
  const question = 'Its token stops working. [y/N] ';

  test.each([
    ['n', 'n\n', 1],
    ['Ctrl-D', '\u0004', 1],
    ['Ctrl-C', '\u0003', 130],
  ])('deletes no worker when the confirmation is answered with %s', async (_what, keys, code) => {
    const run = await runOnTerminal(['workers', 'delete', 'rig-1'], question, keys);
    expect(run.code).toBe(code);
    if (code === 1) expect(run.screen).toMatch(/\nCancelled: nothing was changed\n$/);
    expect(
      server.watch.seen.filter(event => event.kind === 'worker' && event.type === 'worker.deleted'),
    ).toEqual([]);
  });

  test('shows workers watch as a table until Ctrl-C', async () => {
    const run = await runOnTerminal(['workers', 'watch'], 'rig-1', '\u0003');
    expect(run.code).toBe(130);
    expect(run.screen.replace('\u001b[J', '')).toMatch(/^NAME +ID +STATUS.*\nrig-1 +w_\w+ +connecting/);
  });

  test('ends a watch without an error when its terminal closes without SIGHUP', async () => {
    // `setsid` starts the command in a new session, so the command gets no SIGHUP when the terminal closes.
    const words = [process.execPath, cliFile, 'workers', 'watch', '--data-dir', server.dataDir];
    const command = `setsid --wait sh -c 'echo pid=$$; exec ${words.join(' ')}'`;
    const reports = `--report-uncaught-exception --report-directory=${server.dataDir}`;
    const script = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm', NODE_OPTIONS: reports },
    });
    onTestFinished(() => void script.kill('SIGKILL'));
    const pid = await new Promise<number>(resolve => {
      let screen = '';
      script.stdout.on('data', text => {
        screen += String(text);
        if (screen.includes('rig-1')) resolve(Number(/pid=(\d+)/.exec(screen)?.[1]));
      });
    });
    script.kill('SIGKILL');
    await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
    expect(readdirSync(server.dataDir).filter(name => name.startsWith('report.'))).toEqual([]);
  });
});
