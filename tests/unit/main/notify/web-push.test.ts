import { createECDH } from 'node:crypto';
import { expect, test } from 'vitest';
import { createPushKeys, encryptPush, isPushKey } from '../../../../main/notify/web-push.ts';

test('encrypts the example of RFC 8291, appendix A, to the same bytes', () => {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(Buffer.from('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw', 'base64url'));
  const browser = {
    p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  };
  const salt = Buffer.from('DGv6ra1nlYgDCS1FRnbzlw', 'base64url');
  const body = encryptPush('When I grow up, I want to be a watermelon', browser, salt, pair);
  expect(body.toString('base64url')).toBe(
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  );
});

test('creates different keys each time, with the public key as an uncompressed point', () => {
  const [first, second] = [createPushKeys(), createPushKeys()];
  expect(first.publicKey).toMatch(/^B[\w-]{86}$/);
  expect(first.privateKey).not.toBe(second.privateKey);
});

test.each([
  [createPushKeys().publicKey, true],
  [`B${'A'.repeat(86)}`, false],
  ['', false],
])('decides whether %j is the key of a browser: %s', (key, expected) => {
  expect(isPushKey(key)).toBe(expected);
});
