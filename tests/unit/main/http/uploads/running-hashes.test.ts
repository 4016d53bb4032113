import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createRunningHashes } from '../../../../../main/http/uploads/running-hashes.ts';

test('continues the hash of a file only at the offset where the last part ended', () => {
  const hashes = createRunningHashes();
  const hash = hashes.take('file', 0);
  hash?.update('abc');
  hashes.keep('file', 3, hash!);
  expect(hashes.take('another-file', 3)).toBeNull();
  const continued = hashes.take('file', 3);
  expect(continued?.update('def').digest('hex')).toBe(createHash('sha256').update('abcdef').digest('hex'));
  expect(hashes.take('file', 3)).toBeNull();
});

test('drops the hash of a file when a part starts at another offset', () => {
  const hashes = createRunningHashes();
  hashes.keep('file', 3, createHash('sha256').update('abc'));
  expect(hashes.take('file', 2)).toBeNull();
  expect(hashes.take('file', 3)).toBeNull();
});

test('keeps at most 256 hashes, and drops the oldest', () => {
  const hashes = createRunningHashes();
  for (let n = 0; n < 257; n += 1) hashes.keep(`file-${n}`, 1, createHash('sha256'));
  expect(hashes.take('file-0', 1)).toBeNull();
  expect(hashes.take('file-1', 1)).not.toBeNull();
  expect(hashes.take('file-256', 1)).not.toBeNull();
});
