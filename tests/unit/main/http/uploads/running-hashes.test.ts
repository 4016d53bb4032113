import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createRunningHashes } from '../../../../../main/http/uploads/running-hashes.ts';

test('the hash of a file continues where the last part ended, and nowhere else', () => {
  const hashes = createRunningHashes();
  const begun = hashes.take('file', 0);
  begun?.update('abc');
  hashes.keep('file', 3, begun!);
  expect(hashes.take('other', 3)).toBeNull();
  const found = hashes.take('file', 3);
  expect(found?.update('def').digest('hex')).toBe(createHash('sha256').update('abcdef').digest('hex'));
  expect(hashes.take('file', 3)).toBeNull();
});

test('a part that begins elsewhere than the last one ended makes the hash unknown', () => {
  const hashes = createRunningHashes();
  hashes.keep('file', 3, createHash('sha256').update('abc'));
  expect(hashes.take('file', 2)).toBeNull();
  expect(hashes.take('file', 3)).toBeNull();
});

test('uploads that never continue take no more than their share of memory', () => {
  const hashes = createRunningHashes();
  for (let n = 0; n < 257; n += 1) hashes.keep(`file-${n}`, 1, createHash('sha256'));
  expect(hashes.take('file-0', 1)).toBeNull();
  expect(hashes.take('file-1', 1)).not.toBeNull();
  expect(hashes.take('file-256', 1)).not.toBeNull();
});
