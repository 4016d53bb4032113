import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { findMismatch, planUpload } from '../../../../../main/http/uploads/upload-plan.ts';

const plain = { 'content-length': '10' };
const hex = createHash('sha256').update('x').digest('hex');
const base64 = Buffer.from(hex, 'hex').toString('base64');
const planned = (headers: Record<string, string>) => {
  const plan = planUpload(headers);
  return plan.ok ? plan.value : plan.refusal.code;
};

describe('planUpload', () => {
  test.each([
    [plain, { length: 10, part: null }],
    [{}, { length: 0, part: null }],
    [{ ...plain, 'content-encoding': 'identity' }, { length: 10 }],
    [{ ...plain, 'content-range': 'bytes 0-9/10' }, { part: { first: 0, total: 10 } }],
    [{ ...plain, 'content-range': 'bytes 20-29/100' }, { part: { first: 20, total: 100 } }],
    [
      { ...plain, 'x-checksum-sha256': hex.toUpperCase() },
      { ofBody: {}, ofFile: { sha256: hex } },
    ],
    [{ ...plain, 'x-checksum-sha256': base64 }, { ofFile: { sha256: hex } }],
    [
      { ...plain, 'repr-digest': `sha-256=:${base64}:` },
      { ofBody: {}, ofFile: { sha256: hex } },
    ],
    [{ ...plain, 'content-digest': `sha-512=:x:,sha-256=:${base64}:` }, { ofBody: { sha256: hex } }],
    [
      { ...plain, 'x-amz-checksum-sha256': base64 },
      { ofBody: { sha256: hex }, ofFile: {} },
    ],
    [{ ...plain, 'x-amz-checksum-crc32': 'AAAAAQ==' }, { ofBody: { crc32: '00000001' } }],
    [{ ...plain, 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }, { ofBody: { md5: '0'.repeat(32) } }],
    [{ ...plain, 'x-amz-content-sha256': hex }, { ofBody: { sha256: hex } }],
    [
      { ...plain, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' },
      { ofBody: {}, ofFile: {} },
    ],
  ])('reads the upload headers %o', (headers, plan) => {
    expect(planned(headers)).toMatchObject(plan);
  });

  test.each([
    [{ 'transfer-encoding': 'chunked' }, 'length_required'],
    [{ 'content-length': '9'.repeat(30) }, 'length_required'],
    [{ ...plain, 'content-encoding': 'gzip' }, 'media_type'],
    [{ ...plain, 'content-range': 'bytes 0-9/*' }, 'invalid_request'],
    [{ ...plain, 'content-range': 'bytes 9-0/10' }, 'invalid_request'],
    [{ ...plain, 'content-range': 'bytes 1-10/10' }, 'invalid_request'],
    [{ ...plain, 'content-range': 'bytes 0-8/10' }, 'invalid_request'],
    [{ ...plain, 'content-range': `bytes 0-9/${'9'.repeat(20)}` }, 'invalid_request'],
    [{ ...plain, 'x-checksum-sha256': hex.slice(1) }, 'invalid_request'],
    [{ ...plain, 'x-checksum-sha256': `${base64}=` }, 'invalid_request'],
    [{ ...plain, 'x-amz-checksum-sha256': hex }, 'invalid_request'],
    [{ ...plain, 'content-md5': base64 }, 'invalid_request'],
    [{ ...plain, 'content-digest': 'md5=:x:' }, 'invalid_request'],
    [{ ...plain, 'repr-digest': `sha-256=:${hex}:` }, 'invalid_request'],
  ])('refuses the headers %o with %s', (headers, code) => {
    expect(planned(headers)).toBe(code);
  });
});

test('returns the first checksum that does not match, and ignores missing ones', () => {
  const computed = { sha256: 'a', md5: 'b', crc32: 'c' };
  expect(findMismatch({}, computed)).toBeNull();
  expect(findMismatch({ sha256: 'a', crc32: 'c' }, computed)).toBeNull();
  expect(findMismatch({ sha256: 'a', md5: 'x' }, computed)).toBe('md5');
  expect(findMismatch({ md5: 'x' }, { sha256: 'a' })).toBeNull();
});
