import { expect, test } from 'vitest';
import { lastHourly, megabytes } from '../../../../../renderer/pages/settings/backups.tsx';
import type { BackupView } from '../../../../../protocol/backup-api.ts';

const backup = (kind: BackupView['kind'], at: string): BackupView => ({ name: at, kind, at, bytes: 1 });

test('finds the newest hourly backup', () => {
  expect(lastHourly([])).toBeNull();
  expect(lastHourly([backup('manual', '3'), backup('restore', '2')])).toBeNull();
  expect(lastHourly([backup('manual', '3'), backup('hourly', '2'), backup('hourly', '1')])).toBe('2');
});

test.each([
  [0, 0.1],
  [1_234_567, 1.2],
  [9_960_000, 10],
  [123_456_789, 123],
])('rounds %d bytes to %d megabytes', (bytes, size) => {
  expect(megabytes(bytes)).toBe(size);
});
