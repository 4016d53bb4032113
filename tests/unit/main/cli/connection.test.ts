/** Which orchestrator the command line uses and which token it sends, above all to which server it sends none. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findConnection, findLocalFolder, findNetwork, findUrl } from '../../../../main/cli/connection.ts';
import { temporaryFolder } from '../../../support/processes.ts';

const local = 'http://127.0.0.1:8001';

/** A machine with an orchestrator of its own, and a config file when one is given. */
function machine(config?: object) {
  const home = temporaryFolder();
  const file = (path: string, text: string, mode = 0o600): string => {
    const whole = join(home, path);
    mkdirSync(join(whole, '..'), { recursive: true });
    writeFileSync(whole, text);
    chmodSync(whole, mode);
    return whole;
  };
  file('data/trainyard/url', `${local}\n`);
  file('data/trainyard/admin-token', 'ta_local\n');
  if (config !== undefined) file('config/trainyard/config.json', JSON.stringify(config));
  const env = { XDG_DATA_HOME: join(home, 'data'), XDG_CONFIG_HOME: join(home, 'config') };
  return {
    env,
    file,
    find: (flags: object = {}, more: object = {}) => findConnection({ ...flags }, { ...env, ...more }),
  };
}

const refused = (code: number, message: RegExp) => ({
  ok: false,
  failure: { code, message: expect.stringMatching(message) as string },
});

describe('the orchestrator is', () => {
  test('that of this machine, with the token that lies beside it', () => {
    expect(machine().find()).toMatchObject({ ok: true, value: { url: local, token: 'ta_local' } });
  });

  test('the one of the flag before that of the environment, and that before the file', () => {
    const { find } = machine({ url: 'http://file:1', token: 'ta_file' });
    const env = { SIMPLETUNER_ORCHESTRATOR_URL: 'http://env:1', ADMIN_TOKEN: 'ta_env' };
    expect(find({ url: 'http://flag:1', token: 'ta_flag' }, env)).toMatchObject({
      value: { url: 'http://flag:1', token: 'ta_flag' },
    });
    expect(find({}, env)).toMatchObject({ value: { url: 'http://env:1', token: 'ta_env' } });
    expect(find()).toMatchObject({ value: { url: 'http://file:1', token: 'ta_file' } });
  });

  test('nowhere, when none has said that it listens: exit code 6', () => {
    const env = { XDG_DATA_HOME: temporaryFolder(), XDG_CONFIG_HOME: '/nonexistent' };
    expect(findConnection({}, env)).toEqual(refused(6, /^No orchestrator runs on .*trainyard server.*--url/));
  });

  test.each(['nonsense', 'ftp://host', 'http://user:secret@host:8001', 'host:8001'])('not %s', url => {
    expect(machine().find({ url })).toEqual(
      refused(2, /not the address of an orchestrator.*http:\/\/HOST:8001/),
    );
  });

  test('found without a token where none is needed', () => {
    const { env } = machine();
    expect(findUrl({}, env)).toEqual({ ok: true, value: local });
    expect(findLocalFolder({}, env)).toMatchObject({ value: { isTarget: true } });
    expect(findLocalFolder({ url: 'http://other:1' }, env)).toMatchObject({ value: { isTarget: false } });
  });
});

describe('a token goes to no address but its own:', () => {
  test('that of this machine', () => {
    const { find } = machine();
    expect(find({ url: 'http://other:8001' })).toEqual(
      refused(
        3,
        /^No token for http:\/\/other:8001: give --token-file.*is only sent to http:\/\/127\.0\.0\.1:8001$/,
      ),
    );
    expect(find({ url: 'http://127.0.0.1:8002' })).toMatchObject({ ok: false });
    expect(find({ url: `${local}/` })).toMatchObject({ value: { token: 'ta_local' } });
  });

  test('that of a config file which names one', () => {
    const { find } = machine({ url: 'http://fleet:8001', token: 'ta_fleet' });
    expect(find({ url: 'http://other:8001' })).toEqual(refused(3, /^No token for http:\/\/other:8001/));
    expect(find({ url: 'http://fleet:8001/' })).toMatchObject({ value: { token: 'ta_fleet' } });
  });
});

describe('whom to take for it', () => {
  const pin = `sha256:${Buffer.alloc(32, 1).toString('base64')}`;
  const fleet = 'https://fleet:8001';

  test.each<[string, object, object]>([
    ['flags', {}, { url: fleet, pin: [pin] }],
    ['the file, beside the address', { url: fleet, pin }, {}],
    ['the file, for any address', { pin: [pin] }, { url: fleet }],
    ['nobody', {}, { url: fleet }],
  ])('is said by %s', (_what, config, flags) => {
    expect(findNetwork({ ...flags }, machine(config).env)).toMatchObject({ ok: true });
  });

  test('a pin of the file is for the address beside it, and for no other', () => {
    const { env } = machine({ url: fleet, pin: 'nonsense' });
    expect(findNetwork({ url: local }, env)).toMatchObject({ ok: true });
    expect(findNetwork({}, env)).toEqual(refused(2, /^"nonsense" is no pin: write --pin sha256:A+=/));
  });

  test.each<[string, object, RegExp]>([
    ['a pin in a bad form', { url: fleet, pin: ['sha256:x'] }, /^"sha256:x" is no pin/],
    [
      'a pin for an http address',
      { pin: [pin] },
      /^--pin is for https:\/\/, and http:\/\/127\.0\.0\.1:8001 is not/,
    ],
    ['an authority that is not there', { url: fleet, 'ca-file': '/nowhere' }, /^--ca-file \/nowhere: ENOENT/],
  ])('%s is refused: exit code 2', (_what, flags, message) => {
    expect(findNetwork({ ...flags }, machine().env)).toEqual(refused(2, message));
  });
});

describe('a token comes', () => {
  test('from a file that is named, before all others', () => {
    const { find, file } = machine();
    const path = file('token', '  ta_named\n');
    const env = { ADMIN_TOKEN: 'ta_env' };
    expect(find({ 'token-file': path }, env)).toMatchObject({ value: { token: 'ta_named' } });
  });

  test('from the file that a config names', () => {
    const { find, file } = machine();
    const path = file('token', 'ta_named');
    const config = file('other.json', JSON.stringify({ url: 'http://fleet:1', 'token-file': path }));
    expect(find({ config })).toMatchObject({ value: { url: 'http://fleet:1', token: 'ta_named' } });
  });

  test.each([
    ['token', { 'token-file': 'token' }],
    ['data/trainyard/admin-token', {}],
    ['data/trainyard/url', {}],
    ['config/trainyard/config.json', {}],
  ])('not from %s when others can read it', (path, flags: { readonly 'token-file'?: string }) => {
    const made = machine();
    const texts: Readonly<Record<string, string>> = {
      'data/trainyard/url': local,
      'config/trainyard/config.json': '{"token": "ta_config"}',
    };
    const open = made.file(path, texts[path] ?? 'ta_open', 0o640);
    const named = flags['token-file'] === undefined ? {} : { 'token-file': open };
    expect(made.find(named)).toEqual(
      refused(3, new RegExp(`Other users can read ${open}.*chmod 600 ${open}`)),
    );
  });

  test('not from a file that is not there, or holds none', () => {
    const { find, file } = machine();
    expect(find({ 'token-file': '/nowhere/token' })).toEqual(
      refused(3, /cannot be read.*ENOENT.*--token-file/),
    );
    for (const text of ['', 'two words', 'x'.repeat(600), 'ta_\u00e9']) {
      const path = file('token', text);
      expect(find({ 'token-file': path })).toEqual(refused(3, /No token in/));
    }
  });

  test('not from a config that is no JSON: exit code 2', () => {
    const { find, file } = machine();
    expect(find({ config: file('bad.json', '{') })).toEqual(refused(2, /is not valid JSON/));
  });
});
