/**
 * The executables for other systems, run in emulators: Windows x64 in Wine, and Linux arm64 in QEMU. To install the
 * emulators on Debian: `apt-get install wine wine64 qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { buildWorker } from '../../dev/worker/build.ts';
import { fetchPinned } from '../../dev/worker/fetch-pinned.ts';
import { type Platform, targets } from '../../dev/worker/pins.ts';
import { workersApi } from '../../protocol/admin-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { root, startProgram, temporaryFolder } from '../support/processes.ts';
import { startTestServer, valueOf } from '../support/server.ts';

const wineServer = '/usr/lib/wine/wineserver64';
const armLibraries = '/usr/aarch64-linux-gnu';
const qemu = '/usr/bin/qemu-aarch64-static';
const startsArmPrograms = existsSync('/proc/sys/fs/binfmt_misc/qemu-aarch64');
const hasWine = existsSync(wineServer);
const hasQemu = existsSync(qemu) && existsSync(`${armLibraries}/lib/ld-linux-aarch64.so.1`);

const windowsTarget = targetFor('win32-x64');

function targetFor(platform: Platform) {
  const found = targets.find(target => target.platform === platform);
  if (found === undefined) throw new Error(`there is no executable for ${platform}`);
  return found;
}

async function build(platform: Platform): Promise<string> {
  const { executables } = await buildWorker({
    root,
    folder: temporaryFolder(),
    targets: [targetFor(platform)],
  });
  const [executable] = executables;
  if (executable === undefined) throw new Error(`there is no executable for ${platform}`);
  return executable.path;
}

async function openFleet() {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { id } = await server.createWorker({ name: 'rig-1' });
  const { join_token: token } = valueOf(
    await server.admin.call(workersApi.createJoinToken, { params: { id } }),
  );
  const workerArguments = ['--orchestrator-url', server.url, '--name', 'rig-1', '--persistent'];
  return { server, id, workerArguments, env: { SIMPLETUNER_WORKER_TOKEN: token } };
}

/** Returns the command lines of all processes of this machine that contain the text. */
const processesWith = (text: string): readonly string[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return [];
      }
    })
    .filter(line => line.includes(text));

describe.skipIf(!hasWine)('on Windows x64 in Wine', () => {
  /** Creates a Wine environment for Windows 10. All its processes are stopped after the test. */
  function openWindows() {
    const home = temporaryFolder();
    const env = {
      WINEPREFIX: join(home, 'prefix'),
      WINEDEBUG: '-all',
      // Without .NET and HTML, Wine shows no dialog that offers to download them.
      WINEDLLOVERRIDES: 'mscoree,mshtml=',
    };
    onTestFinished(() => void execFileSync(wineServer, ['-k'], { env: { ...process.env, ...env } }));
    execFileSync('wine', ['winecfg', '-v', 'win10'], { env: { ...process.env, ...env }, stdio: 'ignore' });
    return { home, env };
  }

  /** Renames VirtualAlloc2, which Wine 8 supports only in part. V8 then reserves memory with another function. */
  function withoutVirtualAlloc2(program: Buffer): Buffer {
    const name = Buffer.from('VirtualAlloc2\0');
    const index = program.indexOf(name);
    if (index < 0 || program.indexOf(name, index + 1) >= 0)
      throw new Error('VirtualAlloc2 does not occur exactly once');
    program.write('VirtualAllocX', index);
    return program;
  }

  async function copyForWine(program: string, target: string): Promise<string> {
    writeFileSync(target, withoutVirtualAlloc2(readFileSync(program)));
    return `Z:${target}`;
  }

  /** Under Wine, Node cannot write to a pipe, so the output goes to a file. */
  const startInWine = (argv: readonly string[], log: string, env: Readonly<Record<string, string>>) =>
    startProgram(['sh', '-c', 'log=$1; shift; exec wine "$@" </dev/null >"$log" 2>&1', 'sh', log, ...argv], {
      env,
    });

  test('registers the Windows worker, runs a job, and ends a cancelled training with its detached child', async () => {
    const windows = openWindows();
    const fleet = await openFleet();
    const [worker, node] = [
      await copyForWine(await build('win32-x64'), join(windows.home, 'trainyard-worker.exe')),
      await copyForWine(await fetchPinned(windowsTarget.node, root), join(windows.home, 'node.exe')),
    ];
    const mark = `family-of-${process.pid}`;
    const script = join(windows.home, `${mark}.js`);
    writeFileSync(
      script,
      `const { spawn } = require('node:child_process');
       setInterval(() => console.log('step'), 500);
       if (process.argv[2] !== 'child')
         spawn(process.execPath, [__filename, 'child'], { detached: true, stdio: 'ignore' }).unref();`,
    );
    const log = join(windows.home, 'worker.log');
    const stateDir = `Z:${join(windows.home, 'state')}`;
    startInWine(
      [worker, ...fleet.workerArguments, '--state-dir', stateDir, '--trainer', `${node} Z:${script}`],
      log,
      { ...windows.env, ...fleet.env },
    );
    const view = await fleet.server.watch.worker(fleet.id, 'idle');
    expect(view).toMatchObject({ name: 'rig-1' });
    const quick = await fleet.server.submit({ config: { trainer: 'selftest', seconds: 2 } });
    expect(await fleet.server.watch.jobEnd(quick)).toMatchObject({ status: 'completed', attempt: 1 });

    const long = await fleet.server.submit({ config: { any: 'program' } });
    await fleet.server.watch.job(long, 'running');
    await expect.poll(() => processesWith(`${mark}.js child`).length, { timeout: 30_000 }).toBe(1);
    valueOf(await fleet.server.admin.call(queueApi.cancel, { params: { id: long } }));
    expect(await fleet.server.watch.jobEnd(long)).toMatchObject({ status: 'cancelled' });
    // The command line of the worker contains the name of the script, too, so skip it.
    expect(processesWith(`${mark}.js`).filter(line => !line.includes('--trainer'))).toEqual([]);
  }, 300_000);
});

describe.skipIf(!hasQemu)('on Linux arm64 in QEMU', () => {
  async function startWorker() {
    const fleet = await openFleet();
    const home = temporaryFolder();
    const program = join(home, 'trainyard-worker');
    writeFileSync(program, readFileSync(await build('linux-arm64')), { mode: 0o755 });
    const worker = startProgram([qemu, '-L', armLibraries, program, ...fleet.workerArguments], {
      env: { ...fleet.env, HOME: home, XDG_STATE_HOME: join(home, 'state'), QEMU_LD_PREFIX: armLibraries },
    });
    onTestFinished(() => worker.kill('SIGKILL'));
    return { ...fleet, idle: await fleet.server.watch.worker(fleet.id, 'idle') };
  }

  test('registers the arm64 worker, which becomes idle', async () => {
    expect((await startWorker()).idle).toMatchObject({ name: 'rig-1' });
  }, 300_000);

  // For each job, the worker starts its own file as the guard. Linux can start this arm64 file only if QEMU is
  // registered in binfmt_misc.
  test.skipIf(!startsArmPrograms)(
    'runs a job to its end on the arm64 worker',
    async () => {
      const { server } = await startWorker();
      const job = await server.submit({ config: { trainer: 'selftest', seconds: 1 } });
      expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
    },
    300_000,
  );
});
