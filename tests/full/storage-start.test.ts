/** Starts of an orchestrator whose data folder is in use or unusable. */
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/processes.ts';
import {
  adminOf,
  canMount,
  database,
  failureOf,
  modesBelow,
  mountDisk,
  needsMount,
  openServer,
  postJob,
  serverUnder,
  stop,
  startFailing,
} from './storage-bench.ts';

describe('a data folder in use', () => {
  test('exits with 73 and names the process that uses the data folder, until that process is killed', async () => {
    const first = await openServer();
    const before = modesBelow(first.dataDir);
    const { code, output } = await failureOf(startFailing(first.dataDir));
    expect(code).toBe(73);
    expect(output).toMatch(
      new RegExp(
        `^The data folder ${first.dataDir} is in use by another orchestrator, process ${first.pid}, since 20`,
      ),
    );
    const jsonFailure = await failureOf(serverUnder('exec 1> /dev/null', first.dataDir));
    expect(jsonFailure.code).toBe(73);
    expect(JSON.parse(jsonFailure.output)).toMatchObject({
      level: 'error',
      event: 'server.not_started',
      reason: expect.stringContaining(`process ${first.pid}`),
    });
    expect(modesBelow(first.dataDir)).toEqual(before);

    const job = await adminOf(first).submit({ config: {} });
    first.kill('SIGKILL');
    await first.exited;
    expect(await adminOf(await openServer(first.dataDir)).jobs()).toEqual(new Set([job]));
  });
});

/** Shell script that drops the capabilities with which root can read and write all files. */
const withoutRootsRights =
  process.getuid?.() === 0 ? 'set -- setpriv --bounding-set=-dac_override,-dac_read_search -- "$@"' : ':';

describe('an unusable data folder', () => {
  test('exits with 1 for a database of a newer version, and leaves the file untouched', async () => {
    const dataDir = temporaryFolder();
    const file = database(dataDir);
    const db = new Database(file);
    db.pragma('user_version = 99');
    db.close();
    chmodSync(file, 0o600);
    const bytes = readFileSync(file);
    const { code, output } = await failureOf(startFailing(dataDir));
    expect(code).toBe(1);
    expect(output).toContain('start the newer version again');
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  test.skipIf(process.platform === 'win32')(
    'exits with 1 and a remedy when the database or its folder is read-only',
    async () => {
      const { dataDir, ...first } = await openServer();
      await stop({ dataDir, ...first });
      const file = database(dataDir);
      chmodSync(file, 0o400);
      const readOnlyFile = await failureOf(startFailing(dataDir));
      expect(readOnlyFile.code).toBe(1);
      expect(readOnlyFile.output).toContain(`${file} is read-only: "chmod 600" it`);
      expect(statSync(file).mode & 0o777).toBe(0o400);
      chmodSync(file, 0o600);
      chmodSync(dataDir, 0o500);
      const readOnlyFolder = await failureOf(serverUnder(withoutRootsRights, dataDir));
      chmodSync(dataDir, 0o700);
      expect(readOnlyFolder.code).toBe(1);
      expect(readOnlyFolder.output).toMatch(/cannot start: .*cannot be written: give its owner the right/);
    },
  );

  test.skipIf(!canMount)(`exits with 1 and a remedy when the disk is read-only${needsMount}`, async () => {
    const disk = mountDisk(4_096);
    const dataDir = join(disk.path, 'data');
    await stop(await openServer(dataDir));
    disk.makeReadOnly();
    const existingFolderFailure = await failureOf(startFailing(dataDir));
    expect(existingFolderFailure.code).toBe(1);
    expect(existingFolderFailure.output).toMatch(
      /^The orchestrator cannot start: .*cannot be written: give its owner/,
    );
    const newFolderFailure = await failureOf(startFailing(join(disk.path, 'other')));
    expect(newFolderFailure.code).toBe(1);
    expect(newFolderFailure.output).toContain(`The folder ${join(disk.path, 'other')} cannot be created: `);
  });

  test.skipIf(!canMount)(
    `exits with 1 on a full disk, leaves no partial files, and starts once there is space${needsMount}`,
    async () => {
      const disk = mountDisk(4_096);
      const dataDir = join(disk.path, 'data');
      // Leave space for only 1, 2 or 3 of the small files that the server creates before the database.
      for (const pages of [1, 2, 3]) {
        disk.fillBut(4 * pages);
        const { code, output } = await failureOf(startFailing(dataDir));
        expect(code).toBe(1);
        expect(output).toMatch(/^The orchestrator cannot start: .*(full: make room|no space left)/);
        disk.free();
      }
      await openServer(dataDir);
    },
  );
});

test.skipIf(!canMount)(
  `restarts on a full disk, answers reads, and accepts jobs once there is space${needsMount}`,
  { timeout: 60_000 },
  async () => {
    const disk = mountDisk(6_144);
    const dataDir = join(disk.path, 'data');
    const first = await openServer(dataDir);
    const job = await adminOf(first).submit({ config: {} });
    disk.fill();
    first.kill('SIGKILL');
    await first.exited;
    disk.fill();

    const second = await openServer(dataDir);
    const admin = adminOf(second);
    expect(await admin.jobs()).toEqual(new Set([job]));
    const refusal = await submitUntilRefused(second.url, admin.token);
    expect(await refusal.json()).toMatchObject({ code: 'storage', status: 507 });
    disk.free();
    await second.waitForLine(/store\.recovered|"event":"store.recovered"/);
    expect((await postJob(second.url, admin.token, {})).status).toBe(200);
  },
);

/** Submits jobs until the disk is full. The small disk has room for a few hundred jobs at most. */
async function submitUntilRefused(url: string, token: string): Promise<Response> {
  for (;;) {
    const response = await postJob(url, token, { note: 'x'.repeat(4_096) });
    if (response.status !== 200) return response;
  }
}

test.skipIf(process.platform === 'win32')(
  'creates every file with owner-only modes under umask 0',
  async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, 'new', 'data');
    const first = serverUnder('umask 000', dataDir);
    await first.waitForLine(/^\{"ready":true/);
    first.kill('SIGKILL');
    await first.exited;
    const second = serverUnder('umask 000', dataDir);
    await second.waitForLine(/"event":"backup.made"/);
    const modes = modesBelow(folder);
    const folders = ['new', 'new/data', 'new/data/backups', 'new/data/configs', 'new/data/contents'];
    for (const [name, mode] of Object.entries(modes)) {
      expect(`${name} ${mode}`).toBe(`${name} ${folders.includes(name) ? '700' : '600'}`);
    }
    const files = ['admin-token', 'audit-key', 'lock.db', 'lock.json', 'trainyard.db'];
    const companions = ['trainyard.db-shm', 'trainyard.db-wal'];
    expect(Object.keys(modes)).toEqual(
      expect.arrayContaining([
        ...folders,
        ...[...files, ...companions].map(name => join('new/data', name)),
        expect.stringMatching(/^new\/data\/backups\/hourly-/),
      ]),
    );
  },
);
