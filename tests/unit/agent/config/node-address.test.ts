import { describe, expect, it } from 'vitest';
import { loadValidConfig, minimalFlags, configError, tempFolder, writeFile } from '../builders.ts';

const variable = 'TRAINYARD_NODE_ADDRESS';
const addressOf = (flag: object, env: object = {}) =>
  loadValidConfig({ ...minimalFlags, ...flag }, { ...env }).nodeAddress;

describe('node address', () => {
  it.each(['rig-0.example.org', '192.0.2.7', '2001:db8::7', 'fe80::7%eth0'])(
    'reads the node address %s',
    address => {
      expect(addressOf({ 'node-address': address })).toBe(address);
    },
  );

  it('returns no node address by default, so that the worker uses the local address of its connection', () => {
    expect(addressOf({})).toBeNull();
    expect(addressOf({}, { [variable]: '' })).toBeNull();
  });

  it('prefers the flag over the environment, and the environment over the config file', () => {
    const config = writeFile(tempFolder(), 'config.json', JSON.stringify({ 'node-address': 'file' }));
    expect(addressOf({ config })).toBe('file');
    expect(addressOf({ config }, { [variable]: 'environment' })).toBe('environment');
    expect(addressOf({ config, 'node-address': 'flag' }, { [variable]: 'environment' })).toBe('flag');
  });

  it.each(['[2001:db8::7]', 'http://rig-0', 'rig 0', 'rig-0/x', 'a'.repeat(254)])(
    'rejects the node address %s',
    address => {
      expect(configError({ ...minimalFlags, 'node-address': address })).toBe(
        `--node-address "${address}" is not an address. Use a host name or an IP address, without a port`,
      );
    },
  );

  it('names the source of an invalid node address', () => {
    expect(configError(minimalFlags, { [variable]: 'http://rig-0' })).toContain(
      `(given by the environment variable ${variable})`,
    );
  });
});
