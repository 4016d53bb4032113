import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Flags, loadServerConfig, type ServerConfig } from '../../../../main/config.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

function load(flags: Flags, file: object = {}) {
  const path = join(openFolder(), 'config.json');
  writeFileSync(path, JSON.stringify(file));
  return { path, loaded: loadServerConfig({ ...flags, config: path }, {}) };
}

const files = { certificate: 'c.pem', key: 'k.pem' };
const asFlags = { 'ssl-cert': 'c.pem', 'ssl-key': 'k.pem' };

type TlsSettings = Pick<ServerConfig, 'isSecure' | 'certificateFiles'>;

describe('TLS options of trainyard server', () => {
  test.each<
    [
      description: string,
      flags: Flags,
      file: object,
      expected: TlsSettings,
      sourceIn: (path: string) => string | undefined,
    ]
  >([
    ['TLS off by default', {}, {}, { isSecure: false, certificateFiles: null }, () => undefined],
    [
      'a self-signed certificate with --ssl',
      { ssl: true },
      {},
      { isSecure: true, certificateFiles: null },
      () => '--ssl',
    ],
    [
      'certificate files with --ssl-cert',
      asFlags,
      {},
      { isSecure: true, certificateFiles: files },
      () => '--ssl-cert',
    ],
    [
      'certificate files with --ssl',
      { ssl: true, ...asFlags },
      {},
      { isSecure: true, certificateFiles: files },
      () => '--ssl',
    ],
    [
      'a self-signed certificate with "ssl" in the config file',
      {},
      { ssl: true },
      { isSecure: true, certificateFiles: null },
      path => `"ssl" in ${path}`,
    ],
    [
      'certificate files with "ssl-cert" in the config file',
      {},
      asFlags,
      { isSecure: true, certificateFiles: files },
      path => `"ssl-cert" in ${path}`,
    ],
    [
      'TLS off with --no-ssl',
      { ssl: false },
      { ssl: true, ...asFlags },
      { isSecure: false, certificateFiles: null },
      () => '--no-ssl',
    ],
    [
      'TLS off with "ssl" in the config file, despite its certificate files',
      {},
      { ssl: false, ...asFlags },
      { isSecure: false, certificateFiles: null },
      path => `"ssl" in ${path}`,
    ],
  ])('reads the TLS options: %s', (_case, flags, file, expected, sourceIn) => {
    const { path, loaded } = load(flags, file);
    if (!loaded.ok) throw new Error(loaded.refusal.detail);
    const { isSecure, certificateFiles, fixedBy } = loaded.value;
    expect({ isSecure, certificateFiles }).toEqual(expected);
    expect(fixedBy.ssl).toBe(sourceIn(path));
  });

  test.each<[string, Flags, object, RegExp]>([
    ['a text as "ssl"', {}, { ssl: 'yes' }, /^"ssl" in .*config\.json: expected true or false$/],
    [
      'a certificate without a key',
      { ssl: true, 'ssl-cert': 'c' },
      {},
      /belong together: give --ssl-key, too$/,
    ],
    ['a key without a certificate', { 'ssl-key': 'k' }, {}, /belong together: give --ssl-cert, too$/],
    ['an empty path', { 'ssl-cert': '', 'ssl-key': 'k' }, {}, /^--ssl-cert: /],
    [
      'certificate files with --no-ssl',
      { ssl: false, ...asFlags },
      {},
      /^--ssl-cert and --no-ssl contradict each other/,
    ],
  ])('refuses TLS options with %s', (_case, flags, file, message) => {
    const { loaded } = load(flags, file);
    expect(loaded.ok ? 'accepted' : loaded.refusal.detail).toMatch(message);
  });
});
