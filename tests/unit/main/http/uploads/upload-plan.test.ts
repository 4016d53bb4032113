import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { findMismatch, planUpload } from '../../../../../main/http/uploads/upload-plan.ts';

const tenBytes = { 'content-length': '10' };
const sha256Hex = createHash('sha256').update('x').digest('hex');
const sha256Base64 = Buffer.from(sha256Hex, 'hex').toString('base64');
const planOrRefusalCode = (headers: Record<string, string>) => {
  const plan = planUpload(headers);
  return plan.ok ? plan.value : plan.refusal.code;
};

describe('planUpload', () => {
  test.each([
    [tenBytes, { length: 10, part: null }],
    [{}, { length: 0, part: null }],
    [{ ...tenBytes, 'content-encoding': 'identity' }, { length: 10 }],
    [{ ...tenBytes, 'content-range': 'bytes 0-9/10' }, { part: { first: 0, total: 10 } }],
    [{ ...tenBytes, 'content-range': 'bytes 20-29/100' }, { part: { first: 20, total: 100 } }],
    [
      { ...tenBytes, 'x-checksum-sha256': sha256Hex.toUpperCase() },
      { ofBody: {}, ofFile: { sha256: sha256Hex } },
    ],
    [{ ...tenBytes, 'x-checksum-sha256': sha256Base64 }, { ofFile: { sha256: sha256Hex } }],
    [
      { ...tenBytes, 'repr-digest': `sha-256=:${sha256Base64}:` },
      { ofBody: {}, ofFile: { sha256: sha256Hex } },
    ],
    [
      { ...tenBytes, 'content-digest': `sha-512=:x:,sha-256=:${sha256Base64}:` },
      { ofBody: { sha256: sha256Hex } },
    ],
    [
      { ...tenBytes, 'x-amz-checksum-sha256': sha256Base64 },
      { ofBody: { sha256: sha256Hex }, ofFile: {} },
    ],
    [{ ...tenBytes, 'x-amz-checksum-crc32': 'AAAAAQ==' }, { ofBody: { crc32: '00000001' } }],
    [{ ...tenBytes, 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }, { ofBody: { md5: '0'.repeat(32) } }],
    [{ ...tenBytes, 'x-amz-content-sha256': sha256Hex }, { ofBody: { sha256: sha256Hex } }],
    [
      { ...tenBytes, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' },
      { ofBody: {}, ofFile: {} },
    ],
  ])('reads the upload headers %o', (headers, plan) => {
    expect(planOrRefusalCode(headers)).toMatchObject(plan);
  });

  test.each([
    [{ 'transfer-encoding': 'chunked' }, 'length_required'],
    [{ 'content-length': '9'.repeat(30) }, 'length_required'],
    [{ ...tenBytes, 'content-encoding': 'gzip' }, 'media_type'],
    [{ ...tenBytes, 'content-range': 'bytes 0-9/*' }, 'invalid_request'],
    [{ ...tenBytes, 'content-range': 'bytes 9-0/10' }, 'invalid_request'],
    [{ ...tenBytes, 'content-range': 'bytes 1-10/10' }, 'invalid_request'],
    [{ ...tenBytes, 'content-range': 'bytes 0-8/10' }, 'invalid_request'],
    [{ ...tenBytes, 'content-range': `bytes 0-9/${'9'.repeat(20)}` }, 'invalid_request'],
    [{ ...tenBytes, 'x-checksum-sha256': sha256Hex.slice(1) }, 'invalid_request'],
    [{ ...tenBytes, 'x-checksum-sha256': `${sha256Base64}=` }, 'invalid_request'],
    [{ ...tenBytes, 'x-amz-checksum-sha256': sha256Hex }, 'invalid_request'],
    [{ ...tenBytes, 'content-md5': sha256Base64 }, 'invalid_request'],
    [{ ...tenBytes, 'content-digest': 'md5=:x:' }, 'invalid_request'],
    [{ ...tenBytes, 'repr-digest': `sha-256=:${sha256Hex}:` }, 'invalid_request'],
  ])('refuses the upload headers %o with %s', (headers, code) => {
    expect(planOrRefusalCode(headers)).toBe(code);
  });
});

test('returns the first checksum that does not match, and ignores missing checksums', () => {
  const computed = { sha256: 'a', md5: 'b', crc32: 'c' };
  expect(findMismatch({}, computed)).toBeNull();
  expect(findMismatch({ sha256: 'a', crc32: 'c' }, computed)).toBeNull();
  expect(findMismatch({ sha256: 'a', md5: 'x' }, computed)).toBe('md5');
  expect(findMismatch({ md5: 'x' }, { sha256: 'a' })).toBeNull();
});
