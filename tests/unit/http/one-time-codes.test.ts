/** Codes of one-time links: each signs in once, and not when it is old. */
import { expect, test } from 'vitest';
import { codeLastsMs, createOneTimeCodes } from '../../../main/http/one-time-codes.ts';

function openCodes() {
  let now = 0;
  const codes = createOneTimeCodes(() => now);
  return {
    codes,
    wait: (ms: number): void => {
      now += ms;
    },
  };
}

test('a code is good for one time, and for whom it was made', () => {
  const { codes } = openCodes();
  const [mine, yours] = [codes.make('ada'), codes.make('bob')];
  expect(codes.redeem(yours)).toBe('bob');
  expect(codes.redeem(yours)).toBeNull();
  expect(codes.redeem(mine)).toBe('ada');
  expect(codes.redeem('')).toBeNull();
});

test('a code is good until it is ten minutes old', () => {
  const { codes, wait } = openCodes();
  const [first, second] = [codes.make('ada'), codes.make('ada')];
  wait(codeLastsMs - 1);
  expect(codes.redeem(first)).toBe('ada');
  wait(1);
  expect(codes.redeem(second)).toBeNull();
});

test('of very many codes the oldest is forgotten', () => {
  const { codes } = openCodes();
  const made = Array.from({ length: 101 }, () => codes.make('ada'));
  expect(codes.redeem(made[0] ?? '')).toBeNull();
  expect(codes.redeem(made[1] ?? '')).toBe('ada');
});
