import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AuditRow, Store } from '../../../main/orchestrator/ports/index.ts';
import { type DataStore, openDataStore } from '../../../main/store/data-store.ts';
import { openBackupFolder } from '../../../main/store/backups/backups.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { listingLog, newFile, overwriteBytes } from './bench.ts';
import { makeJob, makeWorker, put, putWorkers, quietDeps, workerId } from './builders.ts';
import { testSeal } from '../../support/seal.ts';

const noonName = '2026-01-01T12-00-00Z';

interface Opened extends DataStore {
  readonly logged: readonly string[];
}

function open(file: string): Opened {
  const logged: string[] = [];
  const dataStore = openDataStore(file, {
    clock: createVirtualClock(),
    log: listingLog(logged),
    seal: testSeal,
    onFatal: () => {},
  });
  onTestFinished(() => dataStore.store.close());
  return { ...dataStore, logged };
}

// Creates a database with backups. Each backup has one worker more than the previous backup. The database has one more
// worker than the last backup, and a job.
async function database({ backups }: { readonly backups: number }): Promise<string> {
  const file = newFile();
  const folder = openBackupFolder(file, createVirtualClock());
  const store = openSqliteStore(file, quietDeps());
  const { signal } = new AbortController();
  for (let n = 1; n <= backups; n++) {
    await putWorkers(store, `w_${n}`);
    await folder.add('hourly', copy => store.copyTo(copy, signal), signal);
  }
  await putWorkers(store, 'w_last');
  await put(store, makeJob(1));
  await store.close();
  return file;
}

// Overwrites two pages in the middle of the file.
const damage = (file: string): void => overwriteBytes(file, 4_096, Buffer.alloc(8_192, 0x5a));
const backupsOf = (file: string): readonly string[] =>
  readdirSync(join(dirname(file), 'backups')).map(name => join(dirname(file), 'backups', name));
const workersIn = ({ store }: DataStore): readonly string[] => store.workers().map(({ id }) => id);

// Returns the path and the content of each file below the folder of the database.
const snapshot = (file: string): readonly unknown[] =>
  readdirSync(dirname(file), { recursive: true })
    .map(name => join(dirname(file), String(name)))
    .filter(name => statSync(name).isFile())
    .map(name => [name, readFileSync(name).toString('base64')]);

describe('restoring a damaged database', () => {
  test('sets the damaged files aside and restores the newest backup', async () => {
    const file = await database({ backups: 2 });
    damage(file);
    writeFileSync(`${file}-wal`, 'its log');
    const damagedBytes = readFileSync(file);
    const dataStore = open(file);
    const setAsidePath = `${file}.damaged-${noonName}`;
    expect(dataStore.restored).toEqual({
      damage: expect.stringContaining('is damaged: '),
      setAside: setAsidePath,
      salvagedRows: 0,
      backup: backupsOf(file).at(-1),
      backupAt: Date.UTC(2026, 0, 1, 12),
    });
    expect(dataStore.logged).toEqual(['store.restored']);
    expect(workersIn(dataStore)).toEqual(['w_1', 'w_2']);
    expect(readFileSync(setAsidePath).equals(damagedBytes)).toBe(true);
    expect(readFileSync(`${setAsidePath}-wal`, 'utf8')).toBe('its log');
    await dataStore.store.write(tx => tx.insertWorker(makeWorker({ id: workerId('w_new') }), 'new'));
    await dataStore.store.close();
    const reopened = open(file);
    expect(reopened.restored).toBeNull();
    expect(workersIn(reopened)).toEqual(['w_1', 'w_2', 'w_new']);
  });

  test('restores the database as a file that only its owner can read', async () => {
    const file = await database({ backups: 1 });
    damage(file);
    for (const backup of backupsOf(file)) chmodSync(backup, 0o644);
    open(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('restores an older backup when newer backups are damaged or have a later version', async () => {
    const file = await database({ backups: 3 });
    const [, second = '', third = ''] = backupsOf(file);
    damage(third);
    const db = new Database(second);
    db.pragma('user_version = 99');
    db.close();
    truncateSync(file, 5_000);
    const dataStore = open(file);
    expect(workersIn(dataStore)).toEqual(['w_1']);
    expect(dataStore.logged).toEqual(['backup.unusable', 'backup.unusable', 'store.restored']);
  });

  test('sets each damaged database aside under a new name', async () => {
    const file = await database({ backups: 1 });
    for (const times of [1, 2, 3]) {
      writeFileSync(file, `damaged for the ${times}. time`);
      await open(file).store.close();
    }
    const read = (suffix: string): string => readFileSync(`${file}.damaged-${noonName}${suffix}`, 'utf8');
    expect([read(''), read('-2'), read('-3')].map(text => text.at(-7))).toEqual(['1', '2', '3']);
  });

  test.each([
    ['is missing', (file: string) => rmSync(file)],
    ['is empty', (file: string) => truncateSync(file, 0)],
  ])('restores a database that %s while backups exist', async (what, damageFile) => {
    const file = await database({ backups: 1 });
    damageFile(file);
    const dataStore = open(file);
    expect(dataStore.restored?.damage).toBe(what);
    expect(dataStore.restored?.setAside).toBe(what === 'is empty' ? `${file}.damaged-${noonName}` : null);
    expect(workersIn(dataStore)).toEqual(['w_1']);
  });

  test.each([
    ['no backup exists', 0],
    ['all backups are damaged', 2],
  ])('refuses to start and changes nothing when %s', async (_what, backups) => {
    const file = await database({ backups });
    damage(file);
    if (backups > 0) for (const backup of backupsOf(file)) damage(backup);
    const before = snapshot(file);
    expect(() => open(file)).toThrow(
      new RegExp(
        `^${file} is damaged: .*no whole backup in ${join(dirname(file), 'backups')}.*Nothing was changed`,
      ),
    );
    expect(snapshot(file)).toEqual(before);
  });
});

describe('audit trail of a damaged database', () => {
  const append = (store: Store, count: number) =>
    store.write(tx => {
      for (let n = 0; n < count; n += 1)
        tx.appendAudit({
          at: n,
          type: 'queue.paused',
          actor: { type: 'admin', id: 'ada', address: '10.0.0.1' },
          target: { type: 'queue', id: 'queue' },
          details: { n },
        });
    });

  /** Creates a backup with 3 audit rows, and a database with 5 further rows whose jobs table is unreadable. */
  async function createDamagedTrail(): Promise<{
    readonly file: string;
    readonly rows: readonly AuditRow[];
  }> {
    const file = newFile();
    const folder = openBackupFolder(file, createVirtualClock());
    const store = openSqliteStore(file, quietDeps());
    const { signal } = new AbortController();
    await append(store, 3);
    await folder.add('hourly', copy => store.copyTo(copy, signal), signal);
    await append(store, 5);
    await put(store, makeJob(1));
    const rows = store.audit.after(0, 100);
    await store.close();
    const page = edit(file, db =>
      db.prepare<[], number>("SELECT rootpage FROM sqlite_schema WHERE name = 'jobs'").pluck().get(),
    );
    overwriteBytes(file, ((page ?? 0) - 1) * 4_096, Buffer.alloc(4_096, 0x5a));
    return { file, rows };
  }

  function edit<T>(file: string, act: (db: Database.Database) => T): T {
    const db = new Database(file);
    try {
      return act(db);
    } finally {
      db.close();
    }
  }

  test('salvages all readable audit rows', async () => {
    const { file, rows } = await createDamagedTrail();
    const { store, restored } = open(file);
    expect(restored).toMatchObject({ salvagedRows: 5 });
    expect(store.audit.after(0, 100)).toEqual(rows);
    await append(store, 1);
    expect(store.audit.lastSeq()).toBe(9);
  });

  test('salvages audit rows up to the first row with an invalid seal', async () => {
    const { file, rows } = await createDamagedTrail();
    edit(file, db => {
      db.unsafeMode();
      db.exec("DROP TRIGGER audit_rows_stay; UPDATE audit SET actor_id = 'bob' WHERE seq = 7");
    });
    const { store, restored } = open(file);
    expect(restored).toMatchObject({ salvagedRows: 3 });
    expect(store.audit.after(0, 100)).toEqual(rows.slice(0, 6));
  });

  test('keeps only the audit rows of the backup when the file is no database', async () => {
    const { file, rows } = await createDamagedTrail();
    writeFileSync(file, 'no database at all');
    const { store, restored } = open(file);
    expect(restored).toMatchObject({ salvagedRows: 0 });
    expect(store.audit.after(0, 100)).toEqual(rows.slice(0, 3));
  });
});

describe('interrupted restore', () => {
  // The steps of a restore, in order. The process can die after each step.
  const steps: readonly (readonly [string, (file: string) => void])[] = [
    ['copying the backup', file => copyFileSync(backupsOf(file)[0] ?? '', `${file}.restoring`)],
    ['moving the database', file => renameSync(file, `${file}.damaged-before`)],
    ['moving the write-ahead log', file => renameSync(`${file}-wal`, `${file}.damaged-before-wal`)],
    ['moving the copied backup to the path of the database', file => renameSync(`${file}.restoring`, file)],
  ];

  test.each(steps.map(([what], index) => [what, index + 1] as const))(
    'completes a restore that was interrupted after %s',
    async (_what, completedSteps) => {
      const file = await database({ backups: 1 });
      damage(file);
      writeFileSync(`${file}-wal`, 'its log');
      for (const [, step] of steps.slice(0, completedSteps)) step(file);
      const dataStore = open(file);
      expect(workersIn(dataStore)).toEqual(['w_1']);
      expect(existsSync(`${file}.restoring`)).toBe(false);
      // The damaged files are kept.
      const damagedFiles = readdirSync(dirname(file)).filter(name => name.includes('.damaged-'));
      expect(damagedFiles.filter(name => name.endsWith('-wal'))).toHaveLength(1);
      expect(damagedFiles.filter(name => !name.endsWith('-wal'))).toHaveLength(1);
    },
  );
});

describe('event numbers after a restore', () => {
  const appendEvents = async ({ write }: Pick<Store, 'write'>, count: number): Promise<number> => {
    const fact = { kind: 'worker', type: 'worker.back', workerId: workerId('w_1') } as const;
    let seq = 0;
    for (let n = 0; n < count; n++) seq = await write(tx => tx.appendEvent(fact, n).seq);
    return seq;
  };

  // Creates a database with five events. Its backup contains the first three events.
  async function databaseWithEvents(): Promise<string> {
    const file = newFile();
    const store = openSqliteStore(file, quietDeps());
    await appendEvents(store, 3);
    const { signal } = new AbortController();
    await openBackupFolder(file, createVirtualClock()).add(
      'hourly',
      copy => store.copyTo(copy, signal),
      signal,
    );
    expect(await appendEvents(store, 2)).toBe(5);
    await store.close();
    return file;
  }

  test.each([
    ['restored', (file: string) => damage(file)],
    ['copied over the database by hand', (file: string) => copyFileSync(backupsOf(file)[0] ?? '', file)],
  ])('reuses no event numbers after a backup was %s', async (_what, breakFile) => {
    const file = await databaseWithEvents();
    breakFile(file);
    const { store } = open(file);
    // The numbers skip a billion, so that they are above all lost events. A client that received a lost event must then
    // read everything again.
    expect([store.eventRange(), store.eventsAfter(0, 9)]).toEqual([
      { first: 1_000_000_004, last: 1_000_000_003 },
      [],
    ]);
    expect(await appendEvents(store, 1)).toBe(1_000_000_004);
    await store.close();
    expect(open(file).store.eventRange()).toEqual({ first: 1_000_000_004, last: 1_000_000_004 });
  });

  test('skips event numbers when the backup has no events', async () => {
    const file = await database({ backups: 1 });
    damage(file);
    expect(await appendEvents(open(file).store, 1)).toBe(1_000_000_001);
  });

  test('continues the event numbers after an ordinary start', async () => {
    const file = await databaseWithEvents();
    const { store } = open(file);
    expect([store.eventRange(), await appendEvents(store, 1)]).toEqual([{ first: 1, last: 5 }, 6]);
  });
});

test('restores no backup over an intact database', async () => {
  const file = await database({ backups: 1 });
  const dataStore = open(file);
  expect([dataStore.restored, dataStore.logged, workersIn(dataStore)]).toEqual([null, [], ['w_1', 'w_last']]);
});
