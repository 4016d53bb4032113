import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AuditFact, Store } from '../../../main/orchestrator/ports/index.ts';
import { type Backup, backupName } from '../../../main/store/backups/backup-plan.ts';
import { openBackupFolder } from '../../../main/store/backups/backups.ts';
import { prepareReplacement, type Replacement } from '../../../main/store/backups/replacement.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import { testSeal } from '../../support/seal.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { newFile, overwriteBytes } from './bench.ts';
import { makeJob, put, putWorkers, quietDeps } from './builders.ts';
import { schema1 } from './schema-1.ts';

const clock = createVirtualClock();

interface Fixture {
  readonly file: string;
  readonly store: Store;
  readonly backup: string;
  // The fields of all errors in the log.
  readonly causes: string[];
  prepare(name?: string): Promise<Outcome<Replacement>>;
  // Creates a file in the folder of the backups, and returns its name.
  plant(write: (file: string) => void): string;
}

// The backup contains one worker. The database contains a second worker and a job.
async function openFixture(): Promise<Fixture> {
  const file = newFile();
  const folder = openBackupFolder(file, clock);
  const store = openSqliteStore(file, quietDeps());
  onTestFinished(() => store.close());
  await putWorkers(store, 'w_first');
  const backupFile = await folder.add(
    'manual',
    copy => store.copyTo(copy, new AbortController().signal),
    new AbortController().signal,
  );
  await putWorkers(store, 'w_last');
  await put(store, makeJob(1));
  const backup = backupFile.slice(folder.path.length + 1);
  const causes: string[] = [];
  const log = {
    ...quietDeps().log,
    error: (_event: string, fields = {}) => void causes.push(inspect(fields)),
  };
  // The last event number of the running database is far above the event numbers in the backup.
  const deps = { file, folder, store: { clock, seal: testSeal }, log, lastEvent: 5_000_000_000 };
  return {
    file,
    store,
    backup,
    causes,
    prepare: (name = backup) => prepareReplacement(deps, name),
    plant(write) {
      const name = backupName('manual', 77, clock.wall());
      write(join(folder.path, name));
      return name;
    },
  };
}

const leftovers = (file: string): readonly string[] =>
  readdirSync(dirname(file)).filter(name => name.includes('restoring'));
const workersOf = (store: Store): readonly string[] => store.workers().map(({ id }) => id);
const restoredFact: AuditFact = {
  at: clock.wall(),
  type: 'audit.restored',
  actor: { type: 'admin', id: 'ada', address: null },
  target: { type: 'audit', id: 'audit' },
  details: {},
};

async function prepareOrThrow(fixture: Fixture, name?: string): Promise<Replacement> {
  const outcome = await fixture.prepare(name);
  if (!outcome.ok) throw new Error(outcome.refusal.detail);
  onTestFinished(() => outcome.value.drop());
  return outcome.value;
}

function reopen(file: string): Store {
  const store = openSqliteStore(file, quietDeps());
  onTestFinished(() => store.close());
  return store;
}

describe('replacing the database with a backup', () => {
  test('prepares a copy of the backup, signs the copy, and replaces the database by a rename', async () => {
    const fixture = await openFixture();
    const replacement = await prepareOrThrow(fixture);
    expect(replacement.backup).toMatchObject({
      name: fixture.backup,
      kind: 'manual',
    } satisfies Partial<Backup>);
    expect(replacement.backup.bytes).toBeGreaterThan(0);
    // The prepared copy is not in use yet.
    expect(workersOf(fixture.store)).toEqual(['w_first', 'w_last']);
    await fixture.store.close();
    await replacement.sign(() => restoredFact);
    replacement.replaceDatabase();
    const store = reopen(fixture.file);
    expect(workersOf(store)).toEqual(['w_first']);
    expect(store.liveJobs()).toEqual([]);
    expect(store.audit.row(store.audit.lastSeq())).toMatchObject({ type: 'audit.restored', actor_id: 'ada' });
    expect(leftovers(fixture.file)).toEqual([]);
  });

  test('continues the event numbers after the highest number of both databases', async () => {
    const fixture = await openFixture();
    const replacement = await prepareOrThrow(fixture);
    await fixture.store.close();
    await replacement.sign(() => restoredFact);
    replacement.replaceDatabase();
    expect(reopen(fixture.file).eventRange().last).toBeGreaterThan(5_000_000_000);
  });

  test('migrates a backup of an older version before it replaces the database', async () => {
    const fixture = await openFixture();
    const name = fixture.plant(file => {
      const db = new Database(file);
      db.exec(schema1);
      db.pragma('user_version = 1');
      db.close();
    });
    const replacement = await prepareOrThrow(fixture, name);
    await fixture.store.close();
    replacement.replaceDatabase();
    expect(workersOf(reopen(fixture.file))).toEqual([]);
  });
});

describe('unusable backups', () => {
  test.each([
    'manual-000099-2026-01-01T12-00-00Z.db',
    '../trainyard.db',
    '',
    'unfinished',
    '.',
    '/etc/passwd',
  ])('returns backup_not_found for the name "%s"', async name => {
    const fixture = await openFixture();
    expect(await fixture.prepare(name)).toMatchObject({ ok: false, refusal: { code: 'backup_not_found' } });
    expect(leftovers(fixture.file)).toEqual([]);
  });

  test.each<[string, (file: string, whole: string) => void, RegExp, RegExp?]>([
    ['a file that is not a database', file => writeFileSync(file, 'no database at all'), /not a database/],
    ['an empty file', file => writeFileSync(file, ''), /not a database of Trainyard/],
    [
      'the database of another program',
      file => {
        const db = new Database(file);
        db.exec('CREATE TABLE songs (title TEXT)');
        db.close();
      },
      /not a database of Trainyard/,
    ],
    [
      'a damaged backup',
      (file, whole) => {
        copyFileSync(whole, file);
        overwriteBytes(file, 4_096, Buffer.alloc(16_384, 0x5a));
      },
      /damaged/,
    ],
    [
      'a backup of a newer version',
      (file, whole) => {
        copyFileSync(whole, file);
        const db = new Database(file);
        db.pragma('user_version = 999');
        db.close();
      },
      /newer version.*999/,
    ],
    [
      'a backup with invalid rows',
      (file, whole) => {
        copyFileSync(whole, file);
        const db = new Database(file);
        db.exec("UPDATE workers SET labels = 'no labels'");
        db.close();
      },
      /it could not be read.*The log has more/,
      /JSON/,
    ],
  ])('refuses to restore %s, and changes nothing', async (_what, plant, detailPattern, causePattern) => {
    const fixture = await openFixture();
    const whole = join(dirname(fixture.file), 'backups', fixture.backup);
    const name = fixture.plant(file => plant(file, whole));
    const outcome = await fixture.prepare(name);
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { code: 'backup_unusable', detail: expect.stringMatching(detailPattern) },
    });
    expect(JSON.stringify(outcome)).not.toContain(dirname(fixture.file));
    expect(fixture.causes).toEqual(causePattern === undefined ? [] : [expect.stringMatching(causePattern)]);
    expect(leftovers(fixture.file)).toEqual([]);
    expect(workersOf(fixture.store)).toEqual(['w_first', 'w_last']);
  });

  test('refuses to restore a backup that cannot be copied, and names the file only in the log', async () => {
    const fixture = await openFixture();
    const name = fixture.plant(file => mkdirSync(file));
    const outcome = await fixture.prepare(name);
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'storage' } });
    expect(JSON.stringify(outcome)).not.toContain(dirname(fixture.file));
    expect(fixture.causes).toEqual([expect.stringContaining(join(dirname(fixture.file), 'backups', name))]);
  });

  test('refuses to replace the database while another program uses it', async () => {
    const fixture = await openFixture();
    const replacement = await prepareOrThrow(fixture);
    const other = new Database(fixture.file);
    onTestFinished(() => void other.close());
    other.prepare('SELECT count(*) FROM workers').get();
    await fixture.store.close();
    expect(() => replacement.replaceDatabase()).toThrow(/locked by another program/);
    other.close();
    expect(workersOf(reopen(fixture.file))).toEqual(['w_first', 'w_last']);
  });
});

test('overwrites the leftovers of an interrupted replacement', async () => {
  const fixture = await openFixture();
  for (const suffix of ['', '-wal', '-shm'])
    writeFileSync(`${fixture.file}.restoring${suffix}`, 'half of it');
  const replacement = await prepareOrThrow(fixture);
  replacement.drop();
  expect(leftovers(fixture.file)).toEqual([]);
  expect(existsSync(fixture.file)).toBe(true);
  expect(readFileSync(fixture.file).length).toBeGreaterThan(0);
});
