import { expect, test } from 'vitest';
import { TokenId } from '../../../../../protocol/ids.ts';
import { codeLastsMs, createOneTimeCodes } from '../../../../../main/http/routes/session-routes.ts';

const ada = { tokenId: TokenId.parse('t_ada') };
const bob = { tokenId: TokenId.parse('t_bob') };

function openCodes() {
  let now = 0;
  let adminHash = 'first';
  const codes = createOneTimeCodes(
    () => now,
    () => adminHash,
  );
  return {
    codes,
    replaceAdminToken: (): void => {
      adminHash = 'second';
    },
    wait: (ms: number): void => {
      now += ms;
    },
  };
}

test('redeems a one-time code once, and returns the token that requested the code', () => {
  const { codes } = openCodes();
  const [codeOfAda, codeOfBob] = [codes.make(ada), codes.make(bob)];
  expect(codes.redeem(codeOfBob)).toEqual(bob);
  expect(codes.redeem(codeOfBob)).toBeNull();
  expect(codes.redeem(codeOfAda)).toEqual(ada);
  expect(codes.redeem('')).toBeNull();
});

test('redeems a one-time code for ten minutes', () => {
  const { codes, wait } = openCodes();
  const [first, second] = [codes.make(ada), codes.make(ada)];
  wait(codeLastsMs - 1);
  expect(codes.redeem(first)).toEqual(ada);
  wait(1);
  expect(codes.redeem(second)).toBeNull();
});

test('drops the oldest one-time code when there are more than 100', () => {
  const { codes } = openCodes();
  const codesOfAda = Array.from({ length: 101 }, () => codes.make(ada));
  expect(codes.redeem(codesOfAda[0] ?? '')).toBeNull();
  expect(codes.redeem(codesOfAda[1] ?? '')).toEqual(ada);
});

test('drops the codes of a replaced admin token, and keeps the codes of API tokens', () => {
  const { codes, replaceAdminToken } = openCodes();
  const [codeOfAdminToken, codeOfAda] = [codes.make({ tokenId: null }), codes.make(ada)];
  replaceAdminToken();
  expect([codes.redeem(codeOfAdminToken), codes.redeem(codeOfAda)]).toEqual([null, ada]);
  expect(codes.redeem(codes.make({ tokenId: null }))).toEqual({ tokenId: null });
});
