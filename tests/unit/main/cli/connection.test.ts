import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findConnection, findLocalFolder, findNetwork, findUrl } from '../../../../main/cli/connection.ts';
import { temporaryFolder } from '../../../support/processes.ts';

const localUrl = 'http://127.0.0.1:8001';

/** Creates the files of a machine with an orchestrator, and a config file if `config` is set. */
function createMachine(config?: object) {
  const home = temporaryFolder();
  const file = (path: string, text: string, mode = 0o600): string => {
    const fullPath = join(home, path);
    mkdirSync(join(fullPath, '..'), { recursive: true });
    writeFileSync(fullPath, text);
    chmodSync(fullPath, mode);
    return fullPath;
  };
  file('data/trainyard/url', `${localUrl}\n`);
  file('data/trainyard/admin-token', 'ta_local\n');
  if (config !== undefined) file('config/trainyard/config.json', JSON.stringify(config));
  const env = { XDG_DATA_HOME: join(home, 'data'), XDG_CONFIG_HOME: join(home, 'config') };
  return {
    env,
    file,
    find: (flags: object = {}, variables: object = {}) =>
      findConnection({ ...flags }, { ...env, ...variables }),
  };
}

const failureWith = (code: number, message: RegExp) => ({
  ok: false,
  failure: { code, message: expect.stringMatching(message) as string },
});

describe('finding the orchestrator', () => {
  test('uses the orchestrator on this machine and its token', () => {
    expect(createMachine().find()).toMatchObject({ ok: true, value: { url: localUrl, token: 'ta_local' } });
  });

  test('prefers the flag to the environment, and the environment to the config file', () => {
    const { find } = createMachine({ url: 'http://file:1', token: 'ta_file' });
    const env = { SIMPLETUNER_ORCHESTRATOR_URL: 'http://env:1', ADMIN_TOKEN: 'ta_env' };
    expect(find({ url: 'http://flag:1', token: 'ta_flag' }, env)).toMatchObject({
      value: { url: 'http://flag:1', token: 'ta_flag' },
    });
    expect(find({}, env)).toMatchObject({ value: { url: 'http://env:1', token: 'ta_env' } });
    expect(find()).toMatchObject({ value: { url: 'http://file:1', token: 'ta_file' } });
  });

  test('returns exit code 6 when no orchestrator runs on this machine', () => {
    const env = { XDG_DATA_HOME: temporaryFolder(), XDG_CONFIG_HOME: '/nonexistent' };
    expect(findConnection({}, env)).toEqual(
      failureWith(6, /^No orchestrator uses the data folder .*trainyard server.*--url/),
    );
  });

  test.each(['nonsense', 'ftp://host', 'http://user:secret@host:8001', 'host:8001'])(
    'refuses %s as a URL',
    url => {
      expect(createMachine().find({ url })).toEqual(
        failureWith(2, /not the address of an orchestrator.*http:\/\/HOST:8001/),
      );
    },
  );

  test('finds the URL and the local data folder without a token', () => {
    const { env } = createMachine();
    expect(findUrl({}, env)).toEqual({ ok: true, value: localUrl });
    expect(findLocalFolder({}, env)).toMatchObject({ value: { isTarget: true } });
    expect(findLocalFolder({ url: 'http://other:1' }, env)).toMatchObject({ value: { isTarget: false } });
  });
});

describe('sending a token', () => {
  test('sends the token of the local orchestrator only to the local orchestrator', () => {
    const { find } = createMachine();
    expect(find({ url: 'http://other:8001' })).toEqual(
      failureWith(
        3,
        /^No token for http:\/\/other:8001: give --token-file.*is only sent to http:\/\/127\.0\.0\.1:8001$/,
      ),
    );
    expect(find({ url: 'http://127.0.0.1:8002' })).toMatchObject({ ok: false });
    expect(find({ url: `${localUrl}/` })).toMatchObject({ value: { token: 'ta_local' } });
  });

  test('sends the token of a config file only to the URL of that file', () => {
    const { find } = createMachine({ url: 'http://fleet:8001', token: 'ta_fleet' });
    expect(find({ url: 'http://other:8001' })).toEqual(failureWith(3, /^No token for http:\/\/other:8001/));
    expect(find({ url: 'http://fleet:8001/' })).toMatchObject({ value: { token: 'ta_fleet' } });
  });
});

describe('server identity options', () => {
  const pin = `sha256:${Buffer.alloc(32, 1).toString('base64')}`;
  const fleet = 'https://fleet:8001';

  test.each<[string, object, object]>([
    ['a pin from the flags', {}, { url: fleet, pin: [pin] }],
    ['a pin from a config file with a URL', { url: fleet, pin }, {}],
    ['a pin from a config file without a URL', { pin: [pin] }, { url: fleet }],
    ['an https URL without a pin', {}, { url: fleet }],
  ])('accepts %s', (_case, config, flags) => {
    expect(findNetwork({ ...flags }, createMachine(config).env)).toMatchObject({ ok: true });
  });

  test('uses the pin of a config file with a URL only for that URL', () => {
    const { env } = createMachine({ url: fleet, pin: 'nonsense' });
    expect(findNetwork({ url: localUrl }, env)).toMatchObject({ ok: true });
    expect(findNetwork({}, env)).toEqual(failureWith(2, /^"nonsense" is not a pin: use --pin sha256:A+=/));
  });

  test.each<[string, object, RegExp]>([
    ['an invalid pin', { url: fleet, pin: ['sha256:x'] }, /^"sha256:x" is not a pin/],
    [
      'a pin for a plain HTTP address',
      { pin: [pin] },
      /^--pin is for https:\/\/, but http:\/\/127\.0\.0\.1:8001 would get the token unencrypted/,
    ],
    ['a missing CA file', { url: fleet, 'ca-file': '/nowhere' }, /^--ca-file \/nowhere: ENOENT/],
  ])('returns exit code 2 for %s', (_case, flags, message) => {
    expect(findNetwork({ ...flags }, createMachine().env)).toEqual(failureWith(2, message));
  });
});

describe('reading a token', () => {
  test('prefers the file of --token-file to the variable ADMIN_TOKEN', () => {
    const { find, file } = createMachine();
    const path = file('token', '  ta_named\n');
    const env = { ADMIN_TOKEN: 'ta_env' };
    expect(find({ 'token-file': path }, env)).toMatchObject({ value: { token: 'ta_named' } });
  });

  test('reads the token file that a config file names', () => {
    const { find, file } = createMachine();
    const path = file('token', 'ta_named');
    const config = file('other.json', JSON.stringify({ url: 'http://fleet:1', 'token-file': path }));
    expect(find({ config })).toMatchObject({ value: { url: 'http://fleet:1', token: 'ta_named' } });
  });

  test.each([
    ['token', { 'token-file': 'token' }],
    ['data/trainyard/admin-token', {}],
    ['data/trainyard/url', {}],
    ['config/trainyard/config.json', {}],
  ])(
    'refuses the file %s when other users can read it',
    (path, flags: { readonly 'token-file'?: string }) => {
      const machine = createMachine();
      const texts: Readonly<Record<string, string>> = {
        'data/trainyard/url': localUrl,
        'config/trainyard/config.json': '{"token": "ta_config"}',
      };
      const readable = machine.file(path, texts[path] ?? 'ta_open', 0o640);
      const usedFlags = flags['token-file'] === undefined ? {} : { 'token-file': readable };
      expect(machine.find(usedFlags)).toEqual(
        failureWith(3, new RegExp(`Other users can read ${readable}.*chmod 600 ${readable}`)),
      );
    },
  );

  test('refuses a missing token file and a file without a token', () => {
    const { find, file } = createMachine();
    expect(find({ 'token-file': '/nowhere/token' })).toEqual(
      failureWith(3, /cannot be read.*ENOENT.*--token-file/),
    );
    for (const text of ['', 'two words', 'x'.repeat(600), 'ta_\u00e9']) {
      const path = file('token', text);
      expect(find({ 'token-file': path })).toEqual(failureWith(3, /No token in/));
    }
  });

  test('returns exit code 2 for a config file that is not JSON', () => {
    const { find, file } = createMachine();
    expect(find({ config: file('bad.json', '{') })).toEqual(failureWith(2, /is not valid JSON/));
  });
});
