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

const defaults = { enabled: false, gpus: null, trainer: null, workDir: null };
const enabled = { ...defaults, enabled: true };

describe('local worker options of trainyard server', () => {
  test.each<[string, Flags, object, unknown]>([
    ['no local worker by default', {}, {}, defaults],
    ['a local worker with the flag', { 'local-worker': true }, {}, enabled],
    ['a local worker with the key', {}, { 'local-worker': true }, enabled],
    ['no local worker when the config file disables it', {}, { 'local-worker': false }, defaults],
    [
      'no local worker when the flag disables it',
      { 'local-worker': false },
      { 'local-worker': true },
      defaults,
    ],
    ['the options of a disabled local worker', {}, { 'local-worker-gpus': '0' }, { ...defaults, gpus: '0' }],
    [
      'each option from the flag, or else from the config file',
      { 'local-worker': true, 'local-worker-gpus': '1' },
      { 'local-worker-gpus': '0', 'local-worker-trainer': 'node train.ts', 'local-worker-work-dir': '/big' },
      { enabled: true, gpus: '1', trainer: 'node train.ts', workDir: '/big' },
    ],
  ])('reads %s', (_case, flags, file, expected) => {
    const loaded = load(flags, file);
    expect(loaded.ok && loaded.value.localWorker).toEqual(expected);
  });

  test.each<[string, Flags, object, RegExp]>([
    [
      'a text as "local-worker"',
      {},
      { 'local-worker': 'yes' },
      /^"local-worker" in .*config\.json: expected true or false$/,
    ],
    ['invalid GPU indexes', { 'local-worker': true, 'local-worker-gpus': 'all' }, {}, /numbers of GPUs/],
    ['no GPU indexes', { 'local-worker': true, 'local-worker-gpus': '' }, {}, /numbers of GPUs/],
    [
      'an empty trainer',
      { 'local-worker': true },
      { 'local-worker-trainer': ' ' },
      /^"local-worker-trainer" in .*config\.json: /,
    ],
    [
      'an option without a local worker',
      { 'local-worker-trainer': 'x' },
      {},
      /^--local-worker-trainer has no effect without --local-worker/,
    ],
  ])('refuses to start with %s', (_case, flags, file, message) => {
    const loaded = load(flags, file);
    expect(loaded.ok ? 'accepted' : loaded.refusal.detail).toMatch(message);
  });
});

// A fixed option is set by a flag, a variable or the config file, so that users cannot change the setting in the panel.
describe('sources of fixed options', () => {
  const file = { host: '192.0.2.1', 'local-worker': true, 'local-worker-gpus': '0' };
  test.each<[string, Flags, object, (path: string) => unknown]>([
    ['no source for a default value', {}, {}, () => ({})],
    [
      'the flag, or else the config file',
      { host: '0.0.0.0', 'local-worker': true, 'local-worker-trainer': 'x' },
      file,
      path => ({
        host: '--host',
        'local-worker': '--local-worker',
        'local-worker-gpus': `"local-worker-gpus" in ${path}`,
        'local-worker-trainer': '--local-worker-trainer',
      }),
    ],
    ['a negative flag', { 'local-worker': false }, {}, () => ({ 'local-worker': '--no-local-worker' })],
    [
      'the config file',
      {},
      { host: '192.0.2.1', 'local-worker': false },
      path => ({ host: `"host" in ${path}`, 'local-worker': `"local-worker" in ${path}` }),
    ],
  ])('names the source of each fixed option: %s', (_case, flags, configFile, expected) => {
    const { path, loaded } = loadFrom(flags, configFile);
    expect(loaded.ok && loaded.value.fixedBy).toEqual(expected(path));
  });
});

describe('invalid option values', () => {
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
  ])('names the source of an invalid option value %s', (_case, flags, env, message) => {
    const loaded = loadServerConfig(flags, { XDG_CONFIG_HOME: openFolder(), ...env });
    expect(loaded.ok ? 'accepted' : loaded.refusal.detail).toMatch(message);
  });

  test('names the key and the path of an invalid value in the config file', () => {
    const { path, loaded } = loadFrom({}, { [key]: 'soon' });
    expect(loaded.ok ? 'accepted' : loaded.refusal.detail).toBe(`"${key}" in ${path}: expected a number`);
  });
});

describe('public-url option', () => {
  const key = 'public-url';
  const variable = 'TRAINYARD_PUBLIC_URL';
  const url = 'https://yard.example.org';
  test.each<[string, Flags, Record<string, string>, string | null, string | undefined]>([
    ['no public URL without the option', {}, {}, null, undefined],
    [
      'the public URL of the flag',
      { [key]: `${url}/` },
      { [variable]: 'https://other.example' },
      url,
      `--${key}`,
    ],
    ['the public URL of the variable', {}, { [variable]: url }, url, variable],
  ])('reads %s', (_case, flags, env, expected, source) => {
    const loaded = loadServerConfig(flags, { XDG_CONFIG_HOME: openFolder(), ...env });
    expect(loaded.ok && loaded.value.publicUrl).toBe(expected);
    expect(loaded.ok && loaded.value.fixedBy[key]).toBe(source);
  });

  test('reads the public URL of the config file', () => {
    const { path, loaded } = loadFrom({}, { [key]: url });
    expect(loaded.ok && loaded.value.publicUrl).toBe(url);
    expect(loaded.ok && loaded.value.fixedBy[key]).toBe(`"${key}" in ${path}`);
  });

  test.each(['yard.example.org', 'ftp://yard.example.org', 'https://a:b@yard.example.org', ''])(
    'refuses the public URL %j',
    value => {
      const loaded = load({ [key]: value });
      expect(loaded.ok ? 'accepted' : loaded.refusal.detail).toMatch(/^--public-url: expected an http/);
    },
  );
});

describe('trust-proxy option', () => {
  test.each<[unknown, unknown]>([
    [undefined, []],
    ['2', 2],
    [1, 1],
    ['loopback, 10.0.0.0/8,2001:db8::1', ['loopback', '10.0.0.0/8', '2001:db8::1']],
    [
      ['192.0.2.1', 'uniquelocal'],
      ['192.0.2.1', 'uniquelocal'],
    ],
  ])('reads trusted proxies from %j', (value, expected) => {
    const loaded = load({}, value === undefined ? {} : { 'trust-proxy': value });
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
  ])('refuses %j as trusted proxies', value => {
    const { path, loaded } = loadFrom({}, { 'trust-proxy': value });
    expect(loaded.ok ? 'accepted' : loaded.refusal.detail).toContain(`"trust-proxy" in ${path}: `);
  });
});

describe('audit-retention-days option', () => {
  const variable = 'SIMPLETUNER_AUDIT_RETENTION_DAYS';
  const key = 'audit-retention-days';
  test.each<[string, Flags, Record<string, string>, number | null, string | undefined]>([
    ['no retention without the option', {}, {}, null, undefined],
    ['the retention of the flag', { [key]: '30' }, { [variable]: '60' }, 30, `--${key}`],
    ['the retention of the variable', {}, { [variable]: '60' }, 60, variable],
    ['no retention when the flag is 0', { [key]: '0' }, {}, null, `--${key}`],
  ])('reads %s', (_case, flags, env, days, source) => {
    const loaded = loadServerConfig(flags, { XDG_CONFIG_HOME: openFolder(), ...env });
    expect(loaded.ok && loaded.value.auditRetentionDays).toBe(days);
    expect(loaded.ok && loaded.value.fixedBy[key]).toBe(source);
  });

  test('reads the retention of the config file', () => {
    const { path, loaded } = loadFrom({}, { [key]: 90 });
    expect(loaded.ok && loaded.value.fixedBy[key]).toBe(`"${key}" in ${path}`);
    expect(loaded.ok && loaded.value.auditRetentionDays).toBe(90);
  });
});

// Express serves files only from absolute paths.
test('makes the relative data and configs folders absolute', () => {
  const loaded = load({ 'data-dir': 'data', 'configs-dir': '../configs' });
  if (!loaded.ok) throw new Error('the settings were refused');
  expect([loaded.value.dataDir, loaded.value.configsDir]).toEqual([resolve('data'), resolve('../configs')]);
  const withDefaultConfigs = load({ 'data-dir': 'data' });
  expect(withDefaultConfigs.ok && withDefaultConfigs.value.configsDir).toBe(resolve('data/configs'));
});
