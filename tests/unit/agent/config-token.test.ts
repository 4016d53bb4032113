import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readToken } from '../../../agent/config.ts';
import { openToken } from '../../../agent/session/token-holder.ts';
import { loaded, refusal, tempFolder, writeFile } from './builders.ts';

const url = { 'orchestrator-url': 'http://rig:8001' };
const inFile = (text: string, mode?: number) =>
  ({ kind: 'file', path: writeFile(tempFolder(), 'token', text, mode) }) as const;

describe('the token in the settings', () => {
  it.each([' wt_1', 'wt_1 ', '\twt_1\n', 'wt_1\r\n'])(
    '%j is taken without the white space around it',
    given => {
      expect(loaded({ ...url, 'worker-token': given }).token).toEqual({ kind: 'value', token: 'wt_1' });
      expect(loaded(url, { SIMPLETUNER_WORKER_TOKEN: given }).token).toEqual({
        kind: 'value',
        token: 'wt_1',
      });
    },
  );

  it.each(['wt_ canary', 'wt_\ncanary', 'wt_\tcanary', 'wt_\u00a0canary'])(
    '%j is refused for the white space, and not shown',
    given => {
      const message = refusal({ ...url, 'worker-token': given });
      expect(message).toMatch(/^Invalid token: .*white space/);
      expect(message).not.toContain('canary');
    },
  );

  it.each(['wt_\u200bcanary', 'wt_canary\u2026', '\u201cwt_canary\u201d', 'wt_\0canary'])(
    '%j is refused for the stray character, and not shown',
    given => {
      const message = refusal({ ...url, 'worker-token': given });
      expect(message).toMatch(/^Invalid token: .*character.*plain text/);
      expect(message).not.toContain('canary');
    },
  );

  it.each([[{}], [{ 'worker-token': '' }], [{ 'worker-token': '  ' }], [{ 'worker-token-file': '' }]])(
    'may be missing (%j): the worker may have one of its own',
    flags => {
      expect(loaded({ ...url, ...flags }).token).toBeNull();
    },
  );
});

describe('token and token file together', () => {
  const both = { 'worker-token': 'wt_1', 'worker-token-file': '/t' };
  const env = { SIMPLETUNER_WORKER_TOKEN: 'wt_env' };
  const configFile = (settings: object) => ({
    ...url,
    config: writeFile(tempFolder(), 'c.json', JSON.stringify(settings)),
  });
  const file = { kind: 'file', path: '/t' };
  const value = (token: string) => ({ kind: 'value', token });

  it.each<[string, object, object, object]>([
    ['both as flags: the token', both, {}, value('wt_1')],
    ['the file as flag, before the variable', { 'worker-token-file': '/t' }, env, file],
  ])('%s', (_what, flags, environment, expected) => {
    expect(loaded({ ...url, ...flags }, { ...environment }).token).toEqual(expected);
  });

  it('in the config file: the file', () => {
    expect(loaded(configFile(both)).token).toEqual(file);
  });

  it('the flag of a token goes before the file in the config', () => {
    expect(loaded({ ...configFile(both), 'worker-token': 'wt_flag' }).token).toEqual(value('wt_flag'));
  });

  it('the variable goes before both in the config', () => {
    expect(loaded(configFile(both), env).token).toEqual(value('wt_env'));
    expect(loaded(configFile(both), { SIMPLETUNER_WORKER_TOKEN: '' }).token).toEqual(file);
  });
});

describe('the token file', () => {
  it.each(['wt_1', 'wt_1\n', '  wt_1  \r\n'])('%j holds wt_1', text => {
    expect(readToken(inFile(text))).toEqual({ ok: true, value: 'wt_1' });
  });

  it.each([0o600, 0o400, 0o700])('of mode %o is read', mode => {
    expect(readToken(inFile('wt_1', mode)).ok).toBe(true);
  });

  it.runIf(process.platform !== 'win32').each([0o644, 0o640, 0o604, 0o660, 0o622])(
    'of mode %o is refused with what to do',
    mode => {
      const source = inFile('wt_canary', mode);
      const message = `${source.path} can be read by others: make it yours alone with "chmod 600 ${source.path}"`;
      expect(readToken(source)).toEqual({ ok: false, message });
    },
  );

  it.each(['', '\n', '   '])('that is empty (%j) is refused', text => {
    const source = inFile(text);
    expect(readToken(source)).toEqual({
      ok: false,
      message: `${source.path} is empty: put the worker token into it`,
    });
  });

  it.each([
    ['wt_ canary', 'white space'],
    ['wt_canary\nwt_other', 'white space'],
    ['wt_canary\u200b', 'character'],
  ])('with %j in it is refused, and not shown', (text, expected) => {
    const read = readToken(inFile(text));
    expect(read).toMatchObject({ ok: false, message: expect.stringContaining(expected) });
    expect(JSON.stringify(read)).not.toContain('canary');
  });

  it('that is missing is refused by name', () => {
    const path = join(tempFolder(), 'none');
    expect(readToken({ kind: 'file', path })).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^The worker token could not be read: ENOENT.*none/),
    });
  });
});

describe('the token while the agent runs', () => {
  it('given as it is, it stays', () => {
    const holder = openToken({ kind: 'value', token: 'wt_1' });
    if (!holder.ok) throw new Error(holder.message);
    expect(holder.value.reload()).toBe(false);
    expect(holder.value.current()).toBe('wt_1');
    expect(holder.value.file).toBeNull();
  });

  it('in a file, it is taken over when told to look, and only then', () => {
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
    ['broken', 'wt 2', 0o600],
  ])('one that is %s for a moment changes nothing', (_what, text, mode) => {
    const folder = tempFolder();
    const holder = openToken({ kind: 'file', path: writeFile(folder, 'token', 'wt_1') });
    if (!holder.ok) throw new Error(holder.message);
    writeFile(folder, 'token', text, mode);
    expect(holder.value.reload()).toBe(false);
    expect(holder.value.current()).toBe('wt_1');
  });

  it('a file that can not be read at the start is refused', () => {
    expect(openToken({ kind: 'file', path: '/nowhere/token' })).toMatchObject({
      ok: false,
      message: expect.stringContaining('/nowhere/token'),
    });
  });
});
