/** The local worker options of `trainyard server`: flags override the config file. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Flags, loadServerConfig } from '../../../../main/config.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

function loadFrom(flags: Flags, file: object) {
  const path = join(openFolder(), 'config.json');
  writeFileSync(path, JSON.stringify(file));
  return { path, loaded: loadServerConfig({ ...flags, config: path }, {}) };
}

const load = (flags: Flags, file: object = {}) => loadFrom(flags, file).loaded;

const nothingSaid = { enabled: false, gpus: null, trainer: null, workDir: null };
const on = { ...nothingSaid, enabled: true };

describe('a worker on this machine', () => {
  test.each<[string, Flags, object, unknown]>([
    ['is not there by default', {}, {}, nothingSaid],
    ['is there with the flag', { 'local-worker': true }, {}, on],
    ['is there with the key', {}, { 'local-worker': true }, on],
    ['is not there when the file says no', {}, { 'local-worker': false }, nothingSaid],
    ['is not there when the flag says no', { 'local-worker': false }, { 'local-worker': true }, nothingSaid],
    [
      'may have its settings in the file, and not be there',
      {},
      { 'local-worker-gpus': '0' },
      { ...nothingSaid, gpus: '0' },
    ],
    [
      'takes each setting from the flag first',
      { 'local-worker': true, 'local-worker-gpus': '1' },
      { 'local-worker-gpus': '0', 'local-worker-trainer': 'node train.ts', 'local-worker-work-dir': '/big' },
      { enabled: true, gpus: '1', trainer: 'node train.ts', workDir: '/big' },
    ],
  ])('%s', (_what, flags, file, expected) => {
    const loaded = load(flags, file);
    expect(loaded.ok && loaded.value.localWorker).toEqual(expected);
  });

  test.each<[string, Flags, object, RegExp]>([
    [
      'a word for yes',
      {},
      { 'local-worker': 'yes' },
      /^"local-worker" in .*config\.json: expected true or false$/,
    ],
    ['GPUs that are no numbers', { 'local-worker': true, 'local-worker-gpus': 'all' }, {}, /numbers of GPUs/],
    ['no GPU', { 'local-worker': true, 'local-worker-gpus': '' }, {}, /numbers of GPUs/],
    [
      'an empty trainer',
      { 'local-worker': true },
      { 'local-worker-trainer': ' ' },
      /^"local-worker-trainer" in .*config\.json: /,
    ],
    ['a setting for nobody', { 'local-worker-trainer': 'x' }, {}, /^--local-worker-trainer is for/],
  ])('%s is refused', (_what, flags, file, message) => {
    const loaded = load(flags, file);
    expect(loaded.ok ? 'it was taken' : loaded.refusal.detail).toMatch(message);
  });
});

describe('who says it', () => {
  const file = { host: '192.0.2.1', 'local-worker': true, 'local-worker-gpus': '0' };
  test.each<[string, Flags, object, (path: string) => unknown]>([
    ['is nobody by default', {}, {}, () => ({})],
    [
      'is the flag',
      { host: '0.0.0.0', 'local-worker': true, 'local-worker-trainer': 'x' },
      file,
      path => ({
        host: '--host',
        'local-worker': '--local-worker',
        'local-worker-gpus': `"local-worker-gpus" in ${path}`,
        'local-worker-trainer': '--local-worker-trainer',
      }),
    ],
    [
      'is the flag that says no',
      { 'local-worker': false },
      {},
      () => ({ 'local-worker': '--no-local-worker' }),
    ],
    [
      'is the file',
      {},
      { host: '192.0.2.1', 'local-worker': false },
      path => ({ host: `"host" in ${path}`, 'local-worker': `"local-worker" in ${path}` }),
    ],
  ])('%s', (_what, flags, inFile, expected) => {
    const { path, loaded } = loadFrom(flags, inFile);
    expect(loaded.ok && loaded.value.fixedBy).toEqual(expected(path));
  });
});

describe('a value that is not valid', () => {
  const variable = 'SIMPLETUNER_HEARTBEAT_TIMEOUT';
  const key = 'heartbeat-timeout';
  test.each<[string, Flags, Record<string, string>, RegExp]>([
    ['from a flag', { [key]: 'soon' }, { [variable]: '60' }, /^--heartbeat-timeout: expected a number$/],
    [
      'from the environment',
      {},
      { [variable]: 'soon' },
      /^SIMPLETUNER_HEARTBEAT_TIMEOUT: expected a number$/,
    ],
  ])('%s is refused by the name of its source', (_what, flags, env, message) => {
    const loaded = loadServerConfig(flags, { XDG_CONFIG_HOME: openFolder(), ...env });
    expect(loaded.ok ? 'it was taken' : loaded.refusal.detail).toMatch(message);
  });

  test('from the file is refused by its key and the path of the file', () => {
    const { path, loaded } = loadFrom({}, { [key]: 'soon' });
    expect(loaded.ok ? 'it was taken' : loaded.refusal.detail).toBe(`"${key}" in ${path}: expected a number`);
  });
});

describe('the public address', () => {
  const key = 'public-url';
  const variable = 'TRAINYARD_PUBLIC_URL';
  const url = 'https://yard.example.org';
  test.each<[string, Flags, Record<string, string>, string | null, string | undefined]>([
    ['is set in the panel without a flag', {}, {}, null, undefined],
    ['is what the flag says', { [key]: `${url}/` }, { [variable]: 'https://other.example' }, url, `--${key}`],
    ['is what the variable says', {}, { [variable]: url }, url, variable],
  ])('%s', (_what, flags, env, expected, by) => {
    const loaded = loadServerConfig(flags, { XDG_CONFIG_HOME: openFolder(), ...env });
    expect(loaded.ok && loaded.value.publicUrl).toBe(expected);
    expect(loaded.ok && loaded.value.fixedBy[key]).toBe(by);
  });

  test('is what the file says', () => {
    const { path, loaded } = loadFrom({}, { [key]: url });
    expect(loaded.ok && loaded.value.publicUrl).toBe(url);
    expect(loaded.ok && loaded.value.fixedBy[key]).toBe(`"${key}" in ${path}`);
  });

  test.each(['yard.example.org', 'ftp://yard.example.org', 'https://a:b@yard.example.org', ''])(
    'is not %j',
    given => {
      const loaded = load({ [key]: given });
      expect(loaded.ok ? 'it was taken' : loaded.refusal.detail).toMatch(/^--public-url: expected an http/);
    },
  );
});

describe('trusted proxies', () => {
  test.each<[unknown, unknown]>([
    [undefined, []],
    ['2', 2],
    [1, 1],
    ['loopback, 10.0.0.0/8,2001:db8::1', ['loopback', '10.0.0.0/8', '2001:db8::1']],
    [
      ['192.0.2.1', 'uniquelocal'],
      ['192.0.2.1', 'uniquelocal'],
    ],
  ])('are read from %j', (given, expected) => {
    const loaded = load({}, given === undefined ? {} : { 'trust-proxy': given });
    expect(loaded.ok && loaded.value.trustedProxies).toEqual(expected);
  });

  test.each([
    true,
    'true',
    '',
    '0',
    '17',
    'proxy.example',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '10.0.0.0/8/8',
    '::/129',
    'loopback,',
  ])('are not %j', given => {
    const { path, loaded } = loadFrom({}, { 'trust-proxy': given });
    expect(loaded.ok ? 'it was taken' : loaded.refusal.detail).toContain(`"trust-proxy" in ${path}: `);
  });
});

describe('how long the audit trail is kept', () => {
  const variable = 'SIMPLETUNER_AUDIT_RETENTION_DAYS';
  const key = 'audit-retention-days';
  test.each<[string, Flags, Record<string, string>, number | null, string | undefined]>([
    ['is for ever, and to be set in the panel, when nobody says anything', {}, {}, null, undefined],
    ['is what the flag says', { [key]: '30' }, { [variable]: '60' }, 30, `--${key}`],
    ['is what the variable says', {}, { [variable]: '60' }, 60, variable],
    ['is for ever when the flag says so', { [key]: '0' }, {}, null, `--${key}`],
  ])('%s', (_what, flags, env, days, by) => {
    const loaded = loadServerConfig(flags, { XDG_CONFIG_HOME: openFolder(), ...env });
    expect(loaded.ok && loaded.value.auditRetentionDays).toBe(days);
    expect(loaded.ok && loaded.value.fixedBy[key]).toBe(by);
  });

  test('is what the file says, unless the variable says something else', () => {
    const { path, loaded } = loadFrom({}, { [key]: 90 });
    expect(loaded.ok && loaded.value.fixedBy[key]).toBe(`"${key}" in ${path}`);
    expect(loaded.ok && loaded.value.auditRetentionDays).toBe(90);
  });
});

/** Express sends files of absolute paths alone. */
test('folders that are given relative to the current one are absolute from then on', () => {
  const loaded = load({ 'data-dir': 'data', 'configs-dir': '../configs' });
  if (!loaded.ok) throw new Error('the settings were refused');
  expect([loaded.value.dataDir, loaded.value.configsDir]).toEqual([resolve('data'), resolve('../configs')]);
  const own = load({ 'data-dir': 'data' });
  expect(own.ok && own.value.configsDir).toBe(resolve('data/configs'));
});
