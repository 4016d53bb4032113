import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { planSigning } from '../../../../dev/dist/signing.ts';
import { aboutVersion, isSignedBuild } from '../../../../main/desktop/build.ts';
import { en } from '../../../../main/desktop/words/en.ts';

const azure = {
  AZURE_SIGNING_ENDPOINT: 'https://weu.codesigning.azure.net',
  AZURE_SIGNING_ACCOUNT: 'account',
  AZURE_SIGNING_PROFILE: 'profile',
  AZURE_SIGNING_PUBLISHER: 'Trainyard',
};
const apple = { APPLE_API_KEY: '/secret/key.p8', APPLE_API_KEY_ID: 'id', APPLE_API_ISSUER: 'issuer' };

describe('planSigning', () => {
  test.each([
    { platform: 'linux', environment: { CSC_LINK: 'a' }, isSigned: false },
    { platform: 'win32', environment: {}, isSigned: false },
    { platform: 'win32', environment: { CSC_LINK: '' }, isSigned: false },
    { platform: 'win32', environment: { CSC_LINK: 'a' }, isSigned: true },
    { platform: 'win32', environment: { WIN_CSC_LINK: 'a' }, isSigned: true },
    { platform: 'win32', environment: azure, isSigned: true },
    { platform: 'darwin', environment: {}, isSigned: false },
    { platform: 'darwin', environment: { CSC_NAME: 'a' }, isSigned: true },
    { platform: 'darwin', environment: azure, isSigned: false },
  ])(
    'records whether a build on $platform with $environment is signed',
    ({ platform, environment, isSigned }) => {
      const plan = planSigning(platform, environment);
      expect(plan).toMatchObject({
        isSigned,
        // forceCodeSigning makes the build fail when it cannot be signed.
        settings: { 'extraMetadata.trainyard.signed': `${isSigned}`, forceCodeSigning: `${isSigned}` },
      });
    },
  );

  test('notarizes a signed app only with a complete set of Apple credentials', () => {
    const certificate = { CSC_LINK: 'a' };
    const decide = (environment: Readonly<Record<string, string>>) =>
      planSigning('darwin', environment).settings['mac.notarize'];
    expect(decide({ ...certificate, ...apple })).toBe('true');
    expect(decide({ ...certificate, APPLE_KEYCHAIN_PROFILE: 'p' })).toBe('true');
    expect(decide(certificate)).toBe('false');
    expect(decide(apple)).toBe('false');
  });

  test('refuses incomplete credentials and names the missing variables', () => {
    expect(() => planSigning('darwin', { CSC_LINK: 'a', APPLE_API_KEY: 'k' })).toThrow(
      'also set APPLE_API_KEY_ID, APPLE_API_ISSUER',
    );
    expect(() => planSigning('win32', { AZURE_SIGNING_ENDPOINT: 'e' })).toThrow(
      'also set AZURE_SIGNING_ACCOUNT',
    );
  });

  test('passes no secret to electron-builder', () => {
    const secrets = { CSC_LINK: 's3cret', CSC_KEY_PASSWORD: 's3cret', AZURE_CLIENT_SECRET: 's3cret' };
    for (const platform of ['darwin', 'win32'])
      expect(JSON.stringify(planSigning(platform, { ...secrets, ...azure, ...apple }).settings)).not.toMatch(
        /s3cret|key\.p8/,
      );
  });
});

test('the macOS entitlements allow only just-in-time compilation', () => {
  const file = new URL('../../../../dev/dist/entitlements.mac.plist', import.meta.url);
  const keys = [...readFileSync(file, 'utf8').matchAll(/<key>(.*)<\/key>/g)].map(([, key]) => key);
  expect(keys).toEqual(['com.apple.security.cs.allow-jit']);
});

test('"About" marks an unsigned build as unsigned', () => {
  const packageOf = (signed: unknown): string => JSON.stringify({ trainyard: { signed } });
  expect([true, 'true', false, 'false'].map(packageOf).map(isSignedBuild)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(isSignedBuild('{}')).toBe(false);
  expect(aboutVersion('1.2.3', false, en)).toBe('1.2.3 (unsigned build)');
  expect(aboutVersion('1.2.3', true, en)).toBe('1.2.3');
});
