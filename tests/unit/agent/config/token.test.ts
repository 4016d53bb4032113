import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readToken } from '../../../../agent/config/index.ts';
import { openToken } from '../../../../agent/session/worker-token.ts';
import { loadValidConfig, configError, tempFolder, writeFile } from '../builders.ts';

const url = { 'orchestrator-url': 'http://rig:8001' };
/** Writes a token file, and returns it as the source of a token. */
const tokenFile = (text: string, mode?: number) =>
  ({ kind: 'file', path: writeFile(tempFolder(), 'token', text, mode) }) as const;

describe('token option', () => {
  it.each([' wt_1', 'wt_1 ', '\twt_1\n', 'wt_1\r\n'])('removes white space around the token %j', given => {
    expect(loadValidConfig({ ...url, 'worker-token': given }).token).toEqual({
      kind: 'value',
      token: 'wt_1',
    });
    expect(loadValidConfig(url, { SIMPLETUNER_WORKER_TOKEN: given }).token).toEqual({
      kind: 'value',
      token: 'wt_1',
    });
  });

  it.each(['wt_ canary', 'wt_\ncanary', 'wt_\tcanary', 'wt_\u00a0canary'])(
    'rejects the token %j for its white space, without showing the token',
    given => {
      const message = configError({ ...url, 'worker-token': given });
      expect(message).toMatch(/^Invalid token: .*white space/);
      expect(message).not.toContain('canary');
    },
  );

  it.each(['wt_\u200bcanary', 'wt_canary\u2026', '\u201cwt_canary\u201d', 'wt_\0canary'])(
    'rejects the token %j for its stray character, without showing the token',
    given => {
      const message = configError({ ...url, 'worker-token': given });
      expect(message).toMatch(/^Invalid token: .*character.*plain text/);
      expect(message).not.toContain('canary');
    },
  );

  it.each([[{}], [{ 'worker-token': '' }], [{ 'worker-token': '  ' }], [{ 'worker-token-file': '' }]])(
    'accepts a missing token (%j), because the worker may have a token from joining',
    flags => {
      expect(loadValidConfig({ ...url, ...flags }).token).toBeNull();
    },
  );
});

describe('token and token file', () => {
  const both = { 'worker-token': 'wt_1', 'worker-token-file': '/t' };
  const env = { SIMPLETUNER_WORKER_TOKEN: 'wt_env' };
  const configFile = (settings: object) => ({
    ...url,
    config: writeFile(tempFolder(), 'c.json', JSON.stringify(settings)),
  });
  const file = { kind: 'file', path: '/t' };
  const value = (token: string) => ({ kind: 'value', token });

  it.each<[string, object, object, object]>([
    ['the token over the token file when both are given as flags', both, {}, value('wt_1')],
    ['the flag of the token file over the variable', { 'worker-token-file': '/t' }, env, file],
  ])('prefers %s', (_title, flags, environment, expected) => {
    expect(loadValidConfig({ ...url, ...flags }, { ...environment }).token).toEqual(expected);
  });

  it('prefers the token file over the token when both are in the config file', () => {
    expect(loadValidConfig(configFile(both)).token).toEqual(file);
  });

  it('prefers the token flag over the token file in the config file', () => {
    expect(loadValidConfig({ ...configFile(both), 'worker-token': 'wt_flag' }).token).toEqual(
      value('wt_flag'),
    );
  });

  it('prefers the variable over token and token file in the config file', () => {
    expect(loadValidConfig(configFile(both), env).token).toEqual(value('wt_env'));
    expect(loadValidConfig(configFile(both), { SIMPLETUNER_WORKER_TOKEN: '' }).token).toEqual(file);
  });
});

describe('token file', () => {
  it.each(['wt_1', 'wt_1\n', '  wt_1  \r\n'])('reads wt_1 from a token file with %j', text => {
    expect(readToken(tokenFile(text))).toEqual({ ok: true, value: 'wt_1' });
  });

  it.each([0o600, 0o400, 0o700])('reads a token file with mode %o', mode => {
    expect(readToken(tokenFile('wt_1', mode)).ok).toBe(true);
  });

  it.runIf(process.platform !== 'win32').each([0o644, 0o640, 0o604, 0o660, 0o622])(
    'rejects a token file with mode %o, and names the remedy',
    mode => {
      const source = tokenFile('wt_canary', mode);
      const message = `${source.path} can be read by others. Make it private with "chmod 600 ${source.path}"`;
      expect(readToken(source)).toEqual({ ok: false, message });
    },
  );

  it.each(['', '\n', '   '])('rejects an empty token file (%j)', text => {
    const source = tokenFile(text);
    expect(readToken(source)).toEqual({
      ok: false,
      message: `${source.path} is empty. Put the worker token into it`,
    });
  });

  it.each([
    ['wt_ canary', 'white space'],
    ['wt_canary\nwt_other', 'white space'],
    ['wt_canary\u200b', 'character'],
  ])('rejects a token file with %j, without showing the token', (text, expected) => {
    const read = readToken(tokenFile(text));
    expect(read).toMatchObject({ ok: false, message: expect.stringContaining(expected) });
    expect(JSON.stringify(read)).not.toContain('canary');
  });

  it('reports the path of a missing token file', () => {
    const path = join(tempFolder(), 'none');
    expect(readToken({ kind: 'file', path })).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^The worker token could not be read: ENOENT.*none/),
    });
  });
});

describe('openToken', () => {
  it('keeps a token that was given directly', () => {
    const holder = openToken({ kind: 'value', token: 'wt_1' });
    if (!holder.ok) throw new Error(holder.message);
    expect(holder.value.reload()).toBe(false);
    expect(holder.value.current()).toBe('wt_1');
    expect(holder.value.file).toBeNull();
  });

  it('rereads the token file only on reload', () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const holder = openToken({ kind: 'file', path });
    if (!holder.ok) throw new Error(holder.message);
    const { current, reload, file } = holder.value;
    expect(file).toBe(path);
    expect(reload()).toBe(false);
    writeFile(folder, 'token', 'wt_2\n');
    expect(current()).toBe('wt_1');
    expect(reload()).toBe(true);
    expect(current()).toBe('wt_2');
  });

  it.each([
    ['empty', '', 0o600],
    ['open to others', 'wt_2', 0o644],
    ['invalid', 'wt 2', 0o600],
  ])('keeps the current token while the token file is %s', (_title, text, mode) => {
    const folder = tempFolder();
    const holder = openToken({ kind: 'file', path: writeFile(folder, 'token', 'wt_1') });
    if (!holder.ok) throw new Error(holder.message);
    writeFile(folder, 'token', text, mode);
    expect(holder.value.reload()).toBe(false);
    expect(holder.value.current()).toBe('wt_1');
  });

  it('rejects a token file that cannot be read at the start', () => {
    expect(openToken({ kind: 'file', path: '/nowhere/token' })).toMatchObject({
      ok: false,
      message: expect.stringContaining('/nowhere/token'),
    });
  });
});
