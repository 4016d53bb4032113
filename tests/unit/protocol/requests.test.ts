import { describe, expect, test } from 'vitest';
import { requestsOf } from '../../../protocol/requests.ts';

const read = (requests: unknown) => requestsOf({ $requests: requests });

describe('what a config says of how its trainer is asked', () => {
  test('is nothing without the key', () => {
    expect(requestsOf({ epochs: 3 })).toEqual({ ok: true, value: {} });
    expect(read({})).toEqual({ ok: true, value: {} });
  });

  test('is a signal or a file for each', () => {
    expect(read({ save: { signal: 'SIGUSR1' }, sample: { file: 'ask/sample.now' } })).toEqual({
      ok: true,
      value: {
        save: { kind: 'signal', signal: 'SIGUSR1' },
        sample: { kind: 'file', file: 'ask/sample.now' },
      },
    });
    expect(read({ sample: { signal: 'SIGWINCH' } })).toMatchObject({ ok: true });
  });

  test.each<[string, unknown, string]>([
    ['a signal that stops a process', { save: { signal: 'SIGTERM' } }, '$requests.save.signal in the config'],
    ['one that nobody can hear', { save: { signal: 'SIGKILL' } }, 'expected one of SIGUSR1, SIGUSR2'],
    ['a number', { save: { signal: 10 } }, '$requests.save.signal in the config'],
    ['a file elsewhere', { sample: { file: '../sample.now' } }, 'this cannot be the name of a file'],
    ['a file from the root', { sample: { file: '/tmp/now' } }, 'this cannot be the name of a file'],
    ['no file at all', { sample: { file: '' } }, '$requests.sample.file in the config'],
    ['both', { save: { signal: 'SIGUSR1', file: 'save.now' } }, 'expected a signal or a file, and not both'],
    ['neither', { save: {} }, 'expected a signal or a file, and not both'],
    [
      'a word that is not known here',
      { save: { signal: 'SIGUSR1', times: 3 } },
      '$requests.save in the config',
    ],
    ['something else to ask for', { pause: { signal: 'SIGUSR1' } }, '$requests in the config'],
    ['a list', ['save'], '$requests in the config'],
    ['a text', 'SIGUSR1', '$requests in the config'],
  ])('cannot be %s', (_what, requests, words) => {
    const refused = read(requests);
    expect(refused.ok ? '' : refused.reason).toContain(words);
    expect(refused.ok ? '' : refused.reason).toContain('cannot be read: ');
  });
});
