import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOwnTokens, type OwnToken } from '../../../../agent/session/worker-token.ts';
import { tempFolder, writeFile } from '../builders.ts';

const tokenOf = (digit: string): OwnToken => ({
  joinHash: digit.repeat(64),
  token: `wt_${digit.repeat(43)}`,
});
const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('openOwnTokens', () => {
  it('reads no tokens at first, and creates no file', () => {
    const dir = join(tempFolder(), 'state');
    expect(openOwnTokens(dir).read()).toEqual({ ok: true, value: { joined: null, pending: null } });
    expect(() => statSync(dir)).toThrow('ENOENT');
  });

  it.each([
    { joined: null, pending: tokenOf('a') },
    { joined: tokenOf('a'), pending: null },
    { joined: tokenOf('a'), pending: tokenOf('b') },
  ])('stores tokens for later processes: %j', tokens => {
    const dir = join(tempFolder(), 'state');
    openOwnTokens(dir).keep({ joined: tokenOf('c'), pending: tokenOf('d') });
    openOwnTokens(dir).keep(tokens);
    expect(openOwnTokens(dir).read()).toEqual({ ok: true, value: tokens });
  });

  it('stores tokens with private modes, and leaves no other file', () => {
    const dir = join(tempFolder(), 'state');
    openOwnTokens(dir).keep({ joined: tokenOf('a'), pending: null });
    expect(readdirSync(dir)).toEqual(['token']);
    expect([modeOf(dir), modeOf(join(dir, 'token'))]).toEqual([0o700, 0o600]);
  });

  it.each([
    ['empty', ''],
    ['cut off', '{"joined":{"join_sha256":"aa'],
    ['not an object', '[]'],
    ['missing both fields', '{}'],
    ['missing a field', '{"joined":null}'],
    [
      'storing an invalid hash',
      JSON.stringify({ joined: null, pending: { join_sha256: 'x', token: tokenOf('a').token } }),
    ],
    [
      'storing an invalid token',
      JSON.stringify({ joined: null, pending: { join_sha256: tokenOf('a').joinHash, token: 'canary' } }),
    ],
  ])('reports a token file that is %s as damaged', (_title, text) => {
    const dir = tempFolder();
    writeFile(dir, 'token', text);
    const read = openOwnTokens(dir).read();
    expect(read).toEqual({ ok: false, message: expect.stringContaining(`${join(dir, 'token')} is damaged`) });
    expect(JSON.stringify(read)).not.toContain('canary');
  });

  it('reports an error when the token file is a folder', () => {
    const dir = tempFolder();
    openOwnTokens(join(dir, 'token')).keep({ joined: null, pending: null });
    expect(openOwnTokens(dir).read()).toEqual({ ok: false, message: expect.stringContaining('EISDIR') });
  });
});
