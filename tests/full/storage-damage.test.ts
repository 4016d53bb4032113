/** The start of an orchestrator whose database is damaged, missing, outdated, or was replaced by hand. */
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { JobId } from '../../protocol/ids.ts';
import { schema1 } from '../contract/store/schema-1.ts';
import { type Program, temporaryFolder } from '../support/processes.ts';
import { valueOf } from '../support/server.ts';
import {
  adminOf,
  backupsOf,
  canMount,
  copyData,
  damage,
  database,
  failureOf,
  makeData,
  mountDisk,
  needsMount,
  openServer,
  postJob,
  stop,
  startFailing,
} from './storage-bench.ts';

/** Data folder that each test copies. Its database contains three jobs. Its backup contains only the first two jobs. */
let data = '';
beforeAll(async () => {
  data = await makeData();
});

type Restored = Readonly<Record<string, string | null>>;

/** Returns the restore as the server's ready line describes it, or undefined when nothing was restored. */
function restoredOf({ lines }: Pick<Program, 'lines'>): Restored | undefined {
  const ready = lines.find(line => line.startsWith('{"ready"')) ?? '';
  return (JSON.parse(ready) as { readonly restored?: Restored }).restored;
}

describe('a damaged database', () => {
  test('sets a damaged database aside, and starts with the last backup', async () => {
    const dataDir = copyData(data);
    const file = database(dataDir);
    damage(file);
    const bytes = readFileSync(file);
    const server = await openServer(dataDir);
    const restored = restoredOf(server);
    expect(restored).toEqual({
      damage: expect.stringMatching(/^is damaged: /),
      set_aside: expect.stringContaining(`${file}.damaged-20`),
      backup: backupsOf(dataDir)[0],
      backup_at: expect.stringMatching(/^20.*Z$/),
      audit_rows_salvaged: 1,
      audit_rows_lost: null,
    });
    expect(readFileSync(restored?.['set_aside'] ?? '').equals(bytes)).toBe(true);
    expect(server.lines.join('\n')).toContain('"event":"store.restored"');
    const { jobs, submit } = adminOf(server);
    expect((await jobs()).size).toBe(2);
    await submit({ config: {} });
  });

  test('explains a truncated database and its restored backup on the terminal', async () => {
    const dataDir = copyData(data);
    truncateSync(database(dataDir), 20_000);
    const server = startFailing(dataDir);
    await server.waitForLine(/Later changes are lost/);
    const from = server.lines.findIndex(line => line.startsWith('ATTENTION'));
    expect(server.lines.slice(from, from + 4)).toEqual([
      expect.stringMatching(/^ATTENTION: the database (is damaged|was cut off)/),
      expect.stringMatching(/^The damaged database is kept in .*trainyard\.db\.damaged-20/),
      expect.stringMatching(/^The backup .*hourly-000001-20.* has replaced it/),
      expect.stringMatching(/^It was made at 20.*Z, \d+ minutes ago\. Later changes are lost/),
    ]);
  });

  test('exits with 1 and leaves a damaged database untouched when there is no backup', async () => {
    const dataDir = copyData(data);
    const file = database(dataDir);
    for (const backup of backupsOf(dataDir)) rmSync(backup);
    damage(file);
    const bytes = readFileSync(file);
    const { code, output } = await failureOf(startFailing(dataDir));
    expect(code).toBe(1);
    expect(output).toMatch(
      /^The orchestrator cannot start: .*trainyard\.db is damaged: .*no whole backup in .*begin anew$/,
    );
    expect(readFileSync(file).equals(bytes)).toBe(true);
    expect(readdirSync(dataDir).filter(name => name.includes('damaged'))).toEqual([]);
  });

  test.skipIf(!canMount)(
    `leaves a damaged database untouched while the disk is full${needsMount}`,
    async () => {
      const disk = mountDisk(8_192);
      const dataDir = copyData(data, join(disk.path, 'data'));
      damage(database(dataDir));
      const bytes = readFileSync(database(dataDir));
      disk.fillBut(40);
      const { code, output } = await failureOf(startFailing(dataDir));
      expect(code).toBe(1);
      expect(output).toContain(`${database(dataDir)} does not fit on its disk, which is full: make room`);
      expect(readFileSync(database(dataDir)).equals(bytes)).toBe(true);
      // No partly restored file is left on the full disk.
      expect(readdirSync(dataDir).filter(name => name.includes('restoring'))).toEqual([]);
      disk.free();
      expect((await adminOf(await openServer(dataDir)).jobs()).size).toBe(2);
    },
  );
});

test.skipIf(process.platform === 'win32')(
  'exits with 75 when the database file disappears, and acknowledges no further change',
  async () => {
    const dataDir = copyData(data);
    const first = await openServer(dataDir);
    const { token } = adminOf(first);
    rmSync(database(dataDir));
    await expect(postJob(first.url, token, {})).rejects.toThrow();
    expect(await first.exited).toEqual({ code: 75, signal: null });
    expect(first.lines.at(-1)).toContain('was deleted, moved or replaced while in use');
    const second = await openServer(dataDir);
    expect(restoredOf(second)).toMatchObject({
      damage: expect.stringMatching(/is missing/),
      backup: backupsOf(dataDir)[0],
    });
    expect((await adminOf(second).jobs()).size).toBe(2);
  },
);

test('accepts a backup put in place by hand, but not next to the write-ahead log of another database', async () => {
  const dataDir = copyData(data);
  const file = database(dataDir);
  const first = await openServer(dataDir);
  await adminOf(first).submit({ config: {} });
  first.kill('SIGKILL');
  await first.exited;
  const [backup = ''] = backupsOf(dataDir);
  renameSync(file, join(temporaryFolder(), 'old.db'));
  copyFileSync(backup, file);
  const { code, output } = await failureOf(startFailing(dataDir));
  expect(code).toBe(1);
  expect(output).toContain(`the log ${file}-wal belongs to another database than ${file}`);
  for (const suffix of ['-wal', '-shm']) renameSync(file + suffix, join(temporaryFolder(), 'old'));
  const second = await openServer(dataDir);
  expect(restoredOf(second)).toBeUndefined();
  expect((await adminOf(second).jobs()).size).toBe(2);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

describe('a database of the first version', () => {
  const job = JobId.parse('j_old');

  function writeOldDatabase(): string {
    const dataDir = temporaryFolder();
    writeFileSync(database(dataDir), '', { mode: 0o600 });
    const db = new Database(database(dataDir));
    db.pragma('journal_mode = WAL');
    db.exec(schema1);
    db.exec(`
      INSERT INTO workers (id, name, type, labels, token_hash, created_at, served)
        VALUES ('w_old', 'rig-1', 'persistent', '{"team":"nlp"}', 'hash', 1000, 0);
      INSERT INTO jobs (id, ord, status, config_name, requirements, priority, max_retries, queued_at, not_before,
        retries_used, attempt_n) VALUES ('${job}', 1, 'pending', 'demo',
        '{"target":"auto","gpuCount":0,"labels":{}}', 20, 3, 1000, 0, 0, 0);
      INSERT INTO payloads (job_id, config, dataloader) VALUES ('${job}', '{"lr":1}', 'null');
    `);
    db.close();
    return dataDir;
  }

  const workersIn = (file: string): unknown => {
    const db = new Database(file, { readonly: true });
    try {
      return [
        db.pragma('user_version', { simple: true }),
        db.prepare('SELECT id FROM workers').pluck().all(),
      ];
    } finally {
      db.close();
    }
  };

  test('backs up a database of schema 1 once before the migration, and keeps its data', async () => {
    const dataDir = writeOldDatabase();
    const first = await openServer(dataDir);
    const [backup = '', ...others] = backupsOf(dataDir);
    expect(others).toEqual([]);
    expect(backup).toMatch(/backups\/before-schema-\d+-000001-20/);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect(workersIn(backup)).toEqual([1, ['w_old']]);
    const { client, submit, jobs } = adminOf(first);
    expect(valueOf(await client.call(queueApi.get, { params: { id: job } }))).toMatchObject({
      status: 'pending',
      config_name: 'demo',
    });
    const added = await submit({ config: {} });
    expect(await jobs()).toEqual(new Set([job, added]));
    await stop(first);
    const second = await openServer(dataDir);
    expect(await adminOf(second).jobs()).toEqual(new Set([job, added]));
    expect(backupsOf(dataDir)).toHaveLength(1);
  });
});
