import { expect, test } from 'vitest';
import { AttemptId, JobId } from '../../../../protocol/ids.ts';
import { createUploadTokens, fleetIdOf } from '../../../../main/host/tokens.ts';

const tokens = createUploadTokens(Buffer.alloc(32, 1));
const [job, attempt] = [JobId.parse('j_1'), AttemptId.parse('a_1')];

test('returns the same upload token for an attempt after a restart, and parses the token', () => {
  const token = tokens.of(job, attempt, 0);
  expect(createUploadTokens(Buffer.alloc(32, 1)).of(job, attempt, 0)).toBe(token);
  expect(tokens.read(token)).toEqual({ jobId: job, attemptId: attempt, generation: 0 });
});

test('returns different upload tokens for each attempt, job, generation and data folder', () => {
  const issued = [
    tokens.of(job, attempt, 0),
    tokens.of(job, AttemptId.parse('a_2'), 0),
    tokens.of(JobId.parse('j_2'), attempt, 0),
    tokens.of(job, attempt, 1),
    tokens.of(job, attempt, 2),
    createUploadTokens(Buffer.alloc(32, 2)).of(job, attempt, 0),
  ];
  expect(new Set(issued.map(token => token.split('.')[2])).size).toBe(issued.length);
  expect(tokens.read(issued.at(-1) ?? '')).toBeNull();
});

test.each([
  ['j_1', 'j_2'],
  ['a_1', 'a_2'],
  ['tu_', 'tk_'],
  ['.a_1.', '.a_1'],
])('rejects an upload token with %j changed to %j', (from, to) => {
  const token = tokens.of(job, attempt, 0);
  expect(tokens.read(token.replace(from, to))).toBeNull();
});

test('rejects an empty upload token', () => {
  expect(tokens.read('')).toBeNull();
});

test('rejects an upload token with any character changed, added or removed', () => {
  const token = tokens.of(job, attempt, 0);
  for (let index = 0; index < token.length; index += 1) {
    const [before, after] = [token.slice(0, index), token.slice(index + 1)];
    for (const changedToken of [before + after, `${before}_${token[index]}${after}`])
      expect(tokens.read(changedToken)).toBeNull();
  }
});

test('parses the generation of an upload token, and rejects a changed generation', () => {
  const token = tokens.of(job, attempt, 12);
  expect(tokens.read(token)).toEqual({ jobId: job, attemptId: attempt, generation: 12 });
  for (const suffix of ['', '.0', '.1', '.012', '.13', '.12.', '.-12', '.1e1'])
    expect(tokens.read(token.replace(/\.12$/, suffix))).toBeNull();
});

test('returns another fleet id for a backup in another folder, and for another database in the same folder', () => {
  const [key, otherKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const id = fleetIdOf(key, 'a1b2c3d4');
  expect(id).toMatch(/^[0-9a-f]{8}$/);
  expect(fleetIdOf(key, 'a1b2c3d4')).toBe(id);
  expect(new Set([id, fleetIdOf(otherKey, 'a1b2c3d4'), fleetIdOf(key, 'b1b2c3d4')]).size).toBe(3);
});
