import { describe, expect, test } from 'vitest';
import { requestsOf } from '../../../protocol/requests.ts';

const read = (requests: unknown) => requestsOf({ $requests: requests });

describe('requestsOf', () => {
  test('returns no actions for a config without $requests', () => {
    expect(requestsOf({ epochs: 3 })).toEqual({ ok: true, value: {} });
    expect(read({})).toEqual({ ok: true, value: {} });
  });

  test('reads the signal or the file of each action', () => {
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
    ['a signal that cannot be handled', { save: { signal: 'SIGKILL' } }, 'expected one of SIGUSR1, SIGUSR2'],
    ['a number', { save: { signal: 10 } }, '$requests.save.signal in the config'],
    ['a file outside the folder', { sample: { file: '../sample.now' } }, 'not a valid file name'],
    ['an absolute path', { sample: { file: '/tmp/now' } }, 'not a valid file name'],
    ['an empty file name', { sample: { file: '' } }, '$requests.sample.file in the config'],
    [
      'a signal and a file',
      { save: { signal: 'SIGUSR1', file: 'save.now' } },
      'expected either a signal or a file',
    ],
    ['neither a signal nor a file', { save: {} }, 'expected either a signal or a file'],
    ['an unknown key', { save: { signal: 'SIGUSR1', times: 3 } }, '$requests.save in the config'],
    ['an unknown action', { pause: { signal: 'SIGUSR1' } }, '$requests in the config'],
    ['a list', ['save'], '$requests in the config'],
    ['a text', 'SIGUSR1', '$requests in the config'],
  ])('refuses $requests with %s', (_title, requests, expected) => {
    const refused = read(requests);
    expect(refused.ok ? '' : refused.reason).toContain(expected);
    expect(refused.ok ? '' : refused.reason).toContain('cannot be read: ');
  });
});
