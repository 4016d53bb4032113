import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Backup,
  backupName,
  fileTime,
  hasRestoredTooOften,
  nextBackupInMs,
  parseBackupName,
  planRetention,
} from '../../../../../main/store/backups/backup-plan.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const noon = Date.UTC(2026, 0, 31, 12);

const makeBackup = (number: number, at: number, kind: Backup['kind'] = 'hourly'): Backup => ({
  name: backupName(kind, number, at),
  kind,
  number,
  at,
});
/** Creates `count` hourly backups, the last one at noon. */
const hourly = (count: number): readonly Backup[] =>
  Array.from({ length: count }, (_, index) => makeBackup(index + 1, noon - (count - 1 - index) * hourMs));
// 27 years after noon, so that no backup is recent.
const muchLater = noon + 10_000 * dayMs;
/** Returns `count` consecutive numbers, starting with `first`. */
const numbersFrom = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index);
const keptNumbers = (backups: readonly Backup[], now = muchLater): readonly number[] => {
  const dropped = new Set(planRetention(backups, now));
  return backups.filter(backup => !dropped.has(backup)).map(({ number }) => number);
};

describe('backupName and parseBackupName', () => {
  test('names a backup by kind, number and time', () => {
    expect(backupName('hourly', 42, noon)).toBe('hourly-000042-2026-01-31T12-00-00Z.db');
    expect(fileTime(noon + 999)).toBe('2026-01-31T12-00-00Z');
    expect(backupName('before-schema-3', 7, noon)).toBe('before-schema-3-000007-2026-01-31T12-00-00Z.db');
  });

  test.each([
    makeBackup(1, noon),
    makeBackup(1_234_567, noon, 'before-schema-12'),
    makeBackup(2, noon, 'before-restore'),
  ])('parses the backup name $name', backup => {
    expect(parseBackupName(backup.name)).toEqual(backup);
  });

  test.each([
    '',
    'unfinished',
    'trainyard.db',
    'hourly-000042-2026-01-31T12-00-00Z.db-wal',
    'hourly-42-2026-01-31T12-00-00Z.db',
    'hourly-000042-2026-13-31T12-00-00Z.db',
    'daily-000042-2026-01-31T12-00-00Z.db',
    'before-schema--000042-2026-01-31T12-00-00Z.db',
  ])('returns null for a file name that is no backup: %s', name => {
    expect(parseBackupName(name)).toBeNull();
  });
});

describe('planRetention', () => {
  test('keeps all of 24 hourly backups', () => {
    expect(planRetention(hourly(24), muchLater)).toEqual([]);
    expect(planRetention([], muchLater)).toEqual([]);
  });

  test('keeps the newest 24 hourly backups, and the last hourly backup of each of 7 days', () => {
    // Number 300 is the backup at noon today, so the last one of yesterday (23:00) has number 287.
    const lastOfDays = [167, 191, 215, 239, 263, 287];
    const newest = numbersFrom(277, 24);
    expect(keptNumbers(hourly(300))).toEqual([...lastOfDays.filter(number => number < 277), ...newest]);
  });

  test('keeps one backup for each of the last 7 days that have a backup', () => {
    const weekly = Array.from({ length: 40 }, (_, index) => makeBackup(index + 1, noon + index * 7 * dayMs));
    expect(keptNumbers(weekly)).toEqual(numbersFrom(17, 24));
    // 24 backups of the same day follow the weekly backups.
    const weeklyThenMany = [
      ...weekly,
      ...Array.from({ length: 24 }, (_, index) => makeBackup(41 + index, noon + 280 * dayMs)),
    ];
    // The plan keeps the last backups of six earlier days, and the newest 24.
    expect(keptNumbers(weeklyThenMany)).toEqual([...numbersFrom(35, 6), ...numbersFrom(41, 24)]);
  });

  test('ranks backups by number when the clock ran backwards', () => {
    const backwards = Array.from({ length: 30 }, (_, index) => makeBackup(index + 1, noon - index * 1_000));
    expect(keptNumbers(backwards)).toEqual(numbersFrom(7, 24));
  });

  test('keeps the newest 3 of the backups made before the same schema change', () => {
    const before = (number: number, schema: number) => makeBackup(number, noon, `before-schema-${schema}`);
    const backups = [...[1, 2, 3, 4, 5].map(number => before(number, 3)), before(6, 2), before(7, 3)];
    expect(keptNumbers(backups)).toEqual([4, 5, 6, 7]);
  });

  test('keeps every backup that is the only backup before its schema change', () => {
    const before = Array.from({ length: 40 }, (_, index) =>
      makeBackup(index + 1, noon, `before-schema-${index + 2}`),
    );
    const backups = [...before, ...hourly(24).map(({ at, number }) => makeBackup(number + 40, at))];
    expect(planRetention(backups, muchLater)).toEqual([]);
  });

  test.each<Backup['kind']>(['manual', 'before-restore'])('keeps the newest 10 backups of kind %s', kind => {
    const backups = Array.from({ length: 12 }, (_, index) => makeBackup(index + 1, noon, kind));
    const keptHourly = [1, 2];
    expect(keptNumbers([...backups, ...hourly(2)])).toEqual([...numbersFrom(3, 10), ...keptHourly]);
  });

  test('keeps at most 31 hourly backups, 3 before a schema change, and always the newest backup', () => {
    // Each backup is at most 60 days after noon.
    const backupFields = fc.record({ hours: fc.integer({ min: 0, max: 60 * 24 }), isHourly: fc.boolean() });
    const backups = fc
      .array(backupFields, { maxLength: 120 })
      .map(list =>
        list.map(({ hours, isHourly }, index) =>
          makeBackup(index + 1, noon + hours * hourMs, isHourly ? 'hourly' : 'before-schema-2'),
        ),
      );
    fc.assert(
      fc.property(backups, all => {
        const dropped = new Set(planRetention(all, muchLater));
        const remaining = all.filter(backup => !dropped.has(backup));
        expect(remaining.filter(({ kind }) => kind === 'hourly').length).toBeLessThanOrEqual(31);
        const otherKinds = all.filter(({ kind }) => kind !== 'hourly');
        expect(remaining.filter(({ kind }) => kind !== 'hourly')).toEqual(otherKinds.slice(-3));
        expect(remaining.at(-1)).toBe(all.at(-1));
        expect(planRetention(remaining, muchLater)).toEqual([]);
      }),
    );
  });
});

describe('planRetention and hasRestoredTooOften after repeated restores', () => {
  // Each restore backs up the database that it replaces. An hourly backup follows immediately.
  const backupsOfRestores = (count: number, firstNumber: number, at: number) =>
    Array.from({ length: count }, (_, n) => [
      makeBackup(firstNumber + 2 * n, at + n, 'before-restore'),
      makeBackup(firstNumber + 2 * n + 1, at + n),
    ]).flat();

  test('keeps the hourly backups of the last day after 20 restores', () => {
    const backups = [...hourly(24), ...backupsOfRestores(20, 25, noon + 1_000)];
    expect(keptNumbers(backups, noon + 60_000)).toEqual(backups.map(({ number }) => number));
  });

  test('reports too many restores after 20 restores within a day', () => {
    const backups = backupsOfRestores(20, 1, noon);
    expect(hasRestoredTooOften(backups.slice(1), noon + hourMs)).toBe(false);
    expect(hasRestoredTooOften(backups, noon + hourMs)).toBe(true);
    expect(hasRestoredTooOften(backups, noon + 25 * hourMs)).toBe(false);
  });

  test('keeps replaced databases for a week, and the newest ten after that', () => {
    const backups = Array.from({ length: 30 }, (_, n) => makeBackup(n + 1, noon + n, 'before-restore'));
    expect(keptNumbers(backups, noon + 7 * dayMs - 1)).toHaveLength(30);
    expect(keptNumbers(backups, muchLater)).toHaveLength(10);
  });

  test('does not count restores with a future timestamp as recent', () => {
    const backups = Array.from({ length: 12 }, (_, n) => makeBackup(n + 1, muchLater + n, 'before-restore'));
    expect(keptNumbers(backups, noon)).toHaveLength(10);
    expect(hasRestoredTooOften([...backups, ...backups], noon)).toBe(false);
  });
});

describe('nextBackupInMs', () => {
  test('makes the next backup due immediately when there is no backup', () => {
    expect(nextBackupInMs([], noon)).toBe(0);
  });

  test('makes the next backup due an hour after the newest backup, whatever its kind', () => {
    const backups = [
      makeBackup(3, noon - 20 * 60_000, 'before-schema-2'),
      makeBackup(2, noon - 2 * hourMs),
      makeBackup(1, noon - 1),
    ];
    expect(nextBackupInMs(backups, noon)).toBe(40 * 60_000);
    expect(nextBackupInMs(backups.slice(1), noon)).toBe(0);
  });

  test('makes the next backup due immediately after a restore', () => {
    expect(nextBackupInMs([makeBackup(2, noon, 'before-restore'), makeBackup(1, noon)], noon)).toBe(0);
    expect(nextBackupInMs([makeBackup(3, noon), makeBackup(2, noon, 'before-restore')], noon)).toBe(hourMs);
  });

  test('makes the next backup due immediately when the newest backup has a future timestamp', () => {
    expect(nextBackupInMs([makeBackup(1, noon + 1)], noon)).toBe(0);
    expect(nextBackupInMs([makeBackup(1, noon)], noon)).toBe(hourMs);
  });
});
