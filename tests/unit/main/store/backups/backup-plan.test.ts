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
const noon = Date.UTC(2026, 0, 31, 12);

const make = (number: number, at: number, kind: Backup['kind'] = 'hourly'): Backup => ({
  name: backupName(kind, number, at),
  kind,
  number,
  at,
});
/** This number of hourly backups, the last one at noon. */
const hourly = (count: number): readonly Backup[] =>
  Array.from({ length: count }, (_, index) => make(index + 1, noon - (count - 1 - index) * hourMs));
// 27 years after noon, when no backup is recent.
const later = noon + 10_000 * 24 * hourMs;
const keptNumbers = (backups: readonly Backup[], now = later): readonly number[] => {
  const dropped = new Set(planRetention(backups, now));
  return backups.filter(backup => !dropped.has(backup)).map(({ number }) => number);
};

describe('backupName and parseBackupName', () => {
  test('names a backup by kind, number and time', () => {
    expect(backupName('hourly', 42, noon)).toBe('hourly-000042-2026-01-31T12-00-00Z.db');
    expect(fileTime(noon + 999)).toBe('2026-01-31T12-00-00Z');
    expect(backupName('before-schema-3', 7, noon)).toBe('before-schema-3-000007-2026-01-31T12-00-00Z.db');
  });

  test.each([make(1, noon), make(1_234_567, noon, 'before-schema-12'), make(2, noon, 'before-restore')])(
    'parses the backup name that it wrote: $name',
    backup => {
      expect(parseBackupName(backup.name)).toEqual(backup);
    },
  );

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
    expect(planRetention(hourly(24), later)).toEqual([]);
    expect(planRetention([], later)).toEqual([]);
  });

  test('keeps the newest 24 hourly backups and the last one of each of 7 days', () => {
    // Number 300 is the backup at noon today, so the last one of yesterday (23:00) has number 287.
    const lastOfDays = [167, 191, 215, 239, 263, 287];
    const newest = Array.from({ length: 24 }, (_, index) => 277 + index);
    expect(keptNumbers(hourly(300))).toEqual([...lastOfDays.filter(number => number < 277), ...newest]);
  });

  test('skips days without a backup when it keeps one for each of 7 days', () => {
    const weekly = Array.from({ length: 40 }, (_, index) => make(index + 1, noon + index * 7 * 24 * hourMs));
    expect(keptNumbers(weekly)).toEqual(Array.from({ length: 24 }, (_, index) => 17 + index));
    const busy = [
      ...weekly,
      ...Array.from({ length: 24 }, (_, index) => make(41 + index, noon + 280 * 24 * hourMs)),
    ];
    expect(keptNumbers(busy)).toEqual([
      35,
      36,
      37,
      38,
      39,
      40,
      ...Array.from({ length: 24 }, (_, index) => 41 + index),
    ]);
  });

  test('ranks backups by number when the clock ran backwards', () => {
    const backwards = Array.from({ length: 30 }, (_, index) => make(index + 1, noon - index * 1_000));
    expect(keptNumbers(backwards)).toEqual(Array.from({ length: 24 }, (_, index) => 7 + index));
  });

  test('keeps the newest 3 of the backups made before the same schema change', () => {
    const before = (number: number, schema: number) => make(number, noon, `before-schema-${schema}`);
    const backups = [...[1, 2, 3, 4, 5].map(number => before(number, 3)), before(6, 2), before(7, 3)];
    expect(keptNumbers(backups)).toEqual([4, 5, 6, 7]);
  });

  test('keeps the only backup made before each schema change', () => {
    const before = Array.from({ length: 40 }, (_, index) =>
      make(index + 1, noon, `before-schema-${index + 2}`),
    );
    const backups = [...before, ...hourly(24).map(({ at, number }) => make(number + 40, at))];
    expect(planRetention(backups, later)).toEqual([]);
  });

  test.each<Backup['kind']>(['manual', 'before-restore'])('keeps the newest 10 backups of kind %s', kind => {
    const backups = Array.from({ length: 12 }, (_, index) => make(index + 1, noon, kind));
    expect(keptNumbers([...backups, ...hourly(2)])).toEqual([
      ...Array.from({ length: 10 }, (_, n) => n + 3),
      1,
      2,
    ]);
  });

  test('keeps at most 31 hourly backups, 3 before a schema change, and always the newest one', () => {
    const backups = fc
      .array(fc.tuple(fc.integer({ min: 0, max: 60 * 24 }), fc.boolean()), { maxLength: 120 })
      .map(list =>
        list.map(([hours, h], index) =>
          make(index + 1, noon + hours * hourMs, h ? 'hourly' : 'before-schema-2'),
        ),
      );
    fc.assert(
      fc.property(backups, all => {
        const dropped = new Set(planRetention(all, later));
        const remaining = all.filter(backup => !dropped.has(backup));
        expect(remaining.filter(({ kind }) => kind === 'hourly').length).toBeLessThanOrEqual(31);
        const otherKinds = all.filter(({ kind }) => kind !== 'hourly');
        expect(remaining.filter(({ kind }) => kind !== 'hourly')).toEqual(otherKinds.slice(-3));
        expect(remaining.at(-1)).toBe(all.at(-1));
        expect(planRetention(remaining, later)).toEqual([]);
      }),
    );
  });
});

describe('planRetention and hasRestoredTooOften after repeated restores', () => {
  // Each restore backs up the database that it replaces. An hourly backup follows immediately.
  const restores = (count: number, from: number, at: number) =>
    Array.from({ length: count }, (_, n) => [
      make(from + 2 * n, at + n, 'before-restore'),
      make(from + 2 * n + 1, at + n),
    ]).flat();

  test('keeps the hourly backups of the last day although 20 restores have added theirs', () => {
    const backups = [...hourly(24), ...restores(20, 25, noon + 1_000)];
    expect(keptNumbers(backups, noon + 60_000)).toEqual(backups.map(({ number }) => number));
  });

  test('reports too many restores from the twentieth restore within a day on', () => {
    const backups = restores(20, 1, noon);
    expect(hasRestoredTooOften(backups.slice(1), noon + hourMs)).toBe(false);
    expect(hasRestoredTooOften(backups, noon + hourMs)).toBe(true);
    expect(hasRestoredTooOften(backups, noon + 25 * hourMs)).toBe(false);
  });

  test('keeps replaced databases for a week, and the newest ten after that', () => {
    const backups = Array.from({ length: 30 }, (_, n) => make(n + 1, noon + n, 'before-restore'));
    expect(keptNumbers(backups, noon + 7 * 24 * hourMs - 1)).toHaveLength(30);
    expect(keptNumbers(backups, later)).toHaveLength(10);
  });

  test('does not count restores with a future timestamp as recent', () => {
    const backups = Array.from({ length: 12 }, (_, n) => make(n + 1, later + n, 'before-restore'));
    expect(keptNumbers(backups, noon)).toHaveLength(10);
    expect(hasRestoredTooOften([...backups, ...backups], noon)).toBe(false);
  });
});

describe('nextBackupInMs', () => {
  test('makes the next backup due immediately when there is none', () => {
    expect(nextBackupInMs([], noon)).toBe(0);
  });

  test('makes the next backup due an hour after the newest one of any kind', () => {
    const backups = [
      make(3, noon - 20 * 60_000, 'before-schema-2'),
      make(2, noon - 2 * hourMs),
      make(1, noon - 1),
    ];
    expect(nextBackupInMs(backups, noon)).toBe(40 * 60_000);
    expect(nextBackupInMs(backups.slice(1), noon)).toBe(0);
  });

  test('makes the next backup due immediately after a restore', () => {
    expect(nextBackupInMs([make(2, noon, 'before-restore'), make(1, noon)], noon)).toBe(0);
    expect(nextBackupInMs([make(3, noon), make(2, noon, 'before-restore')], noon)).toBe(hourMs);
  });

  test('makes the next backup due immediately when the newest has a future timestamp', () => {
    expect(nextBackupInMs([make(1, noon + 1)], noon)).toBe(0);
    expect(nextBackupInMs([make(1, noon)], noon)).toBe(hourMs);
  });
});
