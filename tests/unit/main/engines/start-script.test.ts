import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createRunProgram } from '../../../../main/engines/run-program.ts';
import { type StartOptions, noticeSignal, startScript } from '../../../../main/engines/start-script.ts';

const run = createRunProgram({ PATH: process.env['PATH'], TRAINYARD_JOIN: 'tj_1', TMPDIR: tmpdir() });

/** A fake worker that prints its process id, its token and its arguments, one per line. */
const printingProgram = `#!/bin/sh
printf '%s\\n' "$$" "token \${SIMPLETUNER_WORKER_TOKEN:-none} \${TRAINYARD_JOIN:-none}" "$@"
`;

function writeWorkerProgram(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'start script ')), "worker's program");
  writeFileSync(file, printingProgram);
  chmodSync(file, 0o755);
  return file;
}

const settings = { setup: '', worker_options: '', worker_program: writeWorkerProgram() };
const startOptions = (overrides: Partial<StartOptions> = {}): StartOptions => ({
  url: 'http://127.0.0.1:8001',
  pin: null,
  installSha256: '0'.repeat(64),
  settings,
  workerName: 'gpu-1',
  ...overrides,
});

/** Runs the start script in one shell, as a launch does. Returns the process id of the shell and the printed lines. */
async function start(overrides: Partial<StartOptions> = {}) {
  const result = await run(['sh', '-c', `echo $$\n${startScript(startOptions(overrides))}`], {
    timeoutMs: 10_000,
  });
  const [shellPid, ...lines] = result.stdout.split('\n').slice(0, -1);
  return { ...result, shellPid, lines };
}

it('replaces the shell with the worker, and passes the token only to the worker', async () => {
  const { lines, shellPid } = await start();
  expect(lines[0]).toBe(shellPid);
  expect(lines[1]).toBe('token tj_1 none');
  expect(startScript(startOptions())).not.toContain('tj_1');
});

it('passes the address, the name, a state folder and the notice signal to the worker', async () => {
  const { lines } = await start({ pin: 'sha256:AAA=', workerName: "the rig's name" });
  expect(lines.slice(2)).toEqual([
    '--orchestrator-url',
    'http://127.0.0.1:8001',
    '--pin',
    'sha256:AAA=',
    '--name',
    "the rig's name",
    '--persistent',
    '--state-dir',
    expect.stringMatching(/\/trainyard\.\w{6}\/state$/),
    '--notice-signal',
    noticeSignal,
  ]);
});

it('parses worker options over several lines as a shell does', async () => {
  const worker_options = '--label "a=b c"\n  --work-dir "$TRAINYARD_FOLDER/jobs"\n';
  const { lines } = await start({ settings: { ...settings, worker_options } });
  expect(lines.slice(-4)).toEqual([
    '--label',
    'a=b c',
    '--work-dir',
    expect.stringMatching(/trainyard\.\w{6}\/jobs$/),
  ]);
});

it('runs the setup lines first, without the token in their environment', async () => {
  const setup =
    'echo "setup ${TRAINYARD_JOIN:-none} ${SIMPLETUNER_WORKER_TOKEN:-none}"\nTRAINYARD_FOLDER=/tmp/chosen';
  const { lines } = await start({ settings: { ...settings, setup } });
  expect(lines[0]).toBe('setup none none');
  expect(lines).toContain('/tmp/chosen/state');
});

it('exits with an error when the setup fails or the worker cannot start', async () => {
  expect(await start({ settings: { ...settings, setup: 'exit 3' } })).toMatchObject({ code: 3, lines: [] });
  const missing = { ...settings, worker_program: '/nowhere/worker' };
  expect((await start({ settings: missing })).code).not.toBe(0);
});

it('downloads, verifies and runs the install script when no worker program is given', async () => {
  const server = createServer((request, response) =>
    response.end(request.url === '/agent/install.sh' ? printingProgram : ''),
  );
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const download = { ...settings, worker_program: null };
  // A shell variable drops the last line break of the download. The script adds the line break again before hashing.
  const installSha256 = createHash('sha256').update(printingProgram).digest('hex');
  const accepted = await start({ url, installSha256, settings: download });
  expect(accepted.lines.slice(0, 4)).toEqual([
    accepted.shellPid,
    'token tj_1 none',
    '--dir',
    expect.stringMatching(/trainyard\.\w{6}\/bin$/),
  ]);
  expect(accepted.lines).toContain('--persistent');
  const rejected = await start({ url, settings: download });
  expect(rejected).toMatchObject({
    code: 1,
    lines: [],
    stderr: expect.stringMatching(/does not match this command/),
  });
  const unreachable = await start({ url: 'http://127.0.0.1:1', installSha256, settings: download });
  expect(unreachable).toMatchObject({ code: 1, lines: [] });
});
