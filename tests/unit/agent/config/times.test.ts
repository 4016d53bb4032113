import { describe, expect, it } from 'vitest';
import { loadValidConfig, minimalFlags, configError, tempFolder, writeFile } from '../builders.ts';

const withFlag = (name: string, value: unknown) => ({ ...minimalFlags, [name]: value });

describe('notice signal', () => {
  it.each(['USR1', 'SIGUSR1', 'usr1'])('reads the notice signal %j as SIGUSR1', name => {
    expect(loadValidConfig(withFlag('notice-signal', name)).noticeSignal).toBe('SIGUSR1');
  });

  it('sets no notice signal by default', () => {
    expect(loadValidConfig(minimalFlags).noticeSignal).toBeNull();
  });

  it.each<[string, string]>([
    ['TERM', 'another meaning: the worker then finishes its job and leaves'],
    ['SIGUSR2', 'another meaning: the worker then leaves, and its training continues'],
    ['HUP', 'another meaning: the worker then reads its token file again'],
    ['KILL', 'is not supported. Use one of: USR1, ALRM, XCPU, PWR'],
    ['10', 'is not supported'],
    ['constructor', 'is not supported'],
  ])('rejects the notice signal %s with the reason', (name, reason) => {
    expect(configError(withFlag('notice-signal', name))).toContain(reason);
  });
});

describe('available hours', () => {
  it('reads hours from repeated flags', () => {
    expect(loadValidConfig(withFlag('hours', ['20:00-08:00', 'sat 00:00-24:00'])).hours).toEqual([
      { days: [0, 1, 2, 3, 4, 5, 6], from: 1_200, until: 1_920 },
      { days: [6], from: 0, until: 1_440 },
    ]);
  });

  it('sets no hours and ignores use of the rig by default', () => {
    expect(loadValidConfig(minimalFlags)).toMatchObject({ hours: null, yieldsToUser: false });
    expect(loadValidConfig(withFlag('yield-to-user', true)).yieldsToUser).toBe(true);
  });

  it('names the source of invalid hours', () => {
    const path = writeFile(tempFolder(), 'config.json', JSON.stringify({ hours: '8-20' }));
    expect(configError({ ...minimalFlags, config: path })).toBe(
      `--hours "8-20" can't be used. Use hours such as "20:00-08:00" or "mon-fri 20:00-08:00" (given by "hours" in ${path})`,
    );
  });
});
