/** Restores with real processes: crashes during a restore, and the effect of a restore on running trainings. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { auditApi, workersApi } from '../../protocol/admin-api.ts';
import { backupApi } from '../../protocol/backup-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { failpoint, failpointLine } from '../support/failpoint.ts';
import { type Program, root, startProgram, startWorker, temporaryFolder } from '../support/processes.ts';
import { valueOf } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';
import { type Admin, adminOf, database, openServer, startFailing } from './storage-bench.ts';

const makeBackup = async ({ client }: Admin): Promise<string> =>
  valueOf(await client.call(backupApi.make, {})).name;
const restore = ({ client }: Admin, name: string) =>
  client.call(backupApi.restore, { params: { name }, body: { confirm: name }, timeoutMs: 60_000 });
const workersOf = async ({ client }: Admin): Promise<readonly string[]> =>
  valueOf(await client.call(workersApi.list, {}))
    .workers.map(({ name }) => name)
    .toSorted();

/** Starts a server that dies at this point of a restore. */
async function openCrashingServer(at: string, dataDir: string): Promise<Program & { readonly url: string }> {
  const { preload, env } = failpoint(new URL('../support/failpoint-restore.ts', import.meta.url), at);
  const argv = [process.execPath, '--import', preload, join(root, 'main/cli.ts'), 'server', '--json'];
  const program = startProgram([...argv, '--port', '0', '--data-dir', dataDir], { env });
  onTestFinished(() => program.kill('SIGKILL'));
  const [line] = await program.waitForLine(/^\{"ready":true.*/);
  const { url } = JSON.parse(line) as { readonly url: string };
  return { ...program, url };
}

describe('kill -9 during a restore', () => {
  test.each([
    ['copied', ['rig-1', 'rig-2']],
    ['saved', ['rig-1', 'rig-2']],
    ['signed', ['rig-1', 'rig-2']],
    ['renamed', ['rig-1']],
  ])(
    'leaves one intact database when the server dies at the point "%s"',
    async (at, expected) => {
      const dataDir = temporaryFolder();
      const crashingServer = await openCrashingServer(at, dataDir);
      const before = adminOf({ ...crashingServer, dataDir });
      await before.createWorker({ name: 'rig-1' });
      const backup = await makeBackup(before);
      await before.createWorker({ name: 'rig-2' });
      expect(await restore(before, backup)).toMatchObject({ ok: false, failure: { kind: 'unreachable' } });
      expect(await crashingServer.exited).toEqual({ code: null, signal: 'SIGKILL' });
      expect(crashingServer.lines).toContain(failpointLine(at));

      const server = await openServer(dataDir);
      const admin = adminOf(server);
      expect(await workersOf(admin)).toEqual(expected);
      // The database was not damaged, so no file was set aside.
      expect(readdirSync(dataDir).filter(name => /restoring|damaged/.test(name))).toEqual([]);
      const verification = valueOf(await admin.client.call(auditApi.verify, {}));
      expect(verification).toMatchObject({ valid: true, first_bad: null });
      await admin.createWorker({ name: 'rig-3' });
      expect(await restore(admin, backup)).toMatchObject({ ok: true });
      expect(await workersOf(admin)).toEqual(['rig-1']);
      expect(valueOf(await admin.client.call(auditApi.verify, {}))).toMatchObject({ valid: true });
    },
    60_000,
  );
});

/** Creates a trainer that runs until `open` is called. */
function makeGatedTrainer(name: string) {
  const folder = temporaryFolder();
  const script = join(folder, 'trainer.cjs');
  const gate = join(folder, 'enough');
  const exitWhenOpen = `require('node:fs').existsSync(${JSON.stringify(gate)}) && process.exit(0)`;
  writeFileSync(script, `setInterval(() => ${exitWhenOpen}, 20)`);
  const args = ['--name', name, '--persistent', '--trainer', `'${process.execPath}' '${script}'`];
  return { args, open: () => writeFileSync(gate, '') };
}

const pidOf = async (worker: Program): Promise<number> =>
  Number((await worker.waitForLine(/^Job .* runs: .*\(pid (\d+)\)/))[1]);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('continues a training that the backup contains, and stops a training that started after the backup', async () => {
  const server = await openServer();
  const admin = adminOf(server);
  const openWatch = async () => {
    const watch = await watchEvents(server.url, admin.token);
    onTestFinished(() => watch.close());
    return watch;
  };
  const watch = await openWatch();
  const rigs = await Promise.all(
    ['rig-1', 'rig-2'].map(async name => {
      const { token, id } = await admin.createWorker({ name, labels: { is: name } });
      const trainer = makeGatedTrainer(name);
      const agent = startWorker({ url: server.url, token, args: trainer.args });
      await agent.waitForLine(/^Connected/);
      return { agent, trainer, id, submit: () => admin.submit({ config: {}, worker_labels: { is: name } }) };
    }),
  );
  const [first, second] = rigs;
  if (first === undefined || second === undefined) throw new Error('expected two rigs');
  const knownJob = await first.submit();
  await watch.job(knownJob, 'running');
  const knownPid = await pidOf(first.agent);
  const backup = await makeBackup(admin);
  const unknownJob = await second.submit();
  await watch.job(unknownJob, 'running');
  const unknownPid = await pidOf(second.agent);

  expect(await restore(admin, backup)).toMatchObject({ ok: true });
  // The orchestrator tells the second worker to stop its job, which the backup does not contain.
  const watchAfterRestore = await openWatch();
  await watchAfterRestore.worker(second.id, 'idle');
  await expect.poll(() => isAlive(unknownPid), { timeout: 30_000 }).toBe(false);
  expect(await admin.jobs()).toEqual(new Set([knownJob]));
  await watchAfterRestore.worker(first.id, 'busy');
  expect(isAlive(knownPid)).toBe(true);
  first.trainer.open();
  expect(await watchAfterRestore.jobEnd(knownJob)).toMatchObject({ status: 'completed', attempt: 1 });
  const { attempts } = valueOf(await admin.client.call(queueApi.get, { params: { id: knownJob } }));
  expect(attempts).toMatchObject([{ attempt: 1, outcome: 'completed', exit_code: 0 }]);
  expect(first.agent.lines.filter(line => /^Job .* runs/.test(line))).toHaveLength(1);
  // Both workers can still run jobs.
  second.trainer.open();
  expect(await watchAfterRestore.jobEnd(await second.submit())).toMatchObject({ status: 'completed' });
}, 90_000);

test('keeps the lock of the data folder through a restore, and leaves an intact database at a later stop', async () => {
  const server = await openServer();
  const admin = adminOf(server);
  const backup = await makeBackup(admin);
  expect(await restore(admin, backup)).toMatchObject({ ok: true });
  const secondServer = startFailing(server.dataDir);
  expect(await secondServer.exited).toMatchObject({ code: 73 });
  server.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  // An orderly stop leaves no write-ahead log.
  expect(existsSync(`${database(server.dataDir)}-wal`)).toBe(false);
  const db = new Database(database(server.dataDir), { readonly: true });
  expect(db.pragma('quick_check', { simple: true })).toBe('ok');
  db.close();
  expect(readFileSync(join(server.dataDir, 'audit-head'), 'utf8')).toContain('"seal"');
});
