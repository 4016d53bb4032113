/** Tab completion in a shell, without an orchestrator. Integration tests cover completion with one. */
import { describe, expect, test } from 'vitest';
import { runTrainyard } from '../../../support/cli.ts';

/** The words that fit, and what the shell adds by itself. */
async function complete(words: readonly string[], shell = 'zsh') {
  const { code, out, err } = await runTrainyard(['__complete', shell, ...words]);
  expect([code, err]).toEqual([0, '']);
  const lines = out.split('\n').slice(0, -1);
  return { found: lines.slice(0, -1).map(line => line.split('\t')[0]), own: lines.at(-1) };
}

describe('completion knows', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['commands', ['work'], ['worker', 'workers']],
    ['commands of commands', ['jobs', 're'], ['reject', 'release', 'retry']],
    ['the queue', ['queue', ''], ['status', 'pause', 'resume', 'limits', 'cleanup', 'stats', 'help']],
    ['what the queue takes', ['queue', 'limits', '--ma'], ['--max']],
    ['options', ['workers', 'drain', '--dea'], ['--deadline']],
    ['choices of options', ['workers', 'create', '--type', ''], ['persistent', 'ephemeral']],
    ['choices behind a =', ['workers', 'create', '--type=e'], ['--type=ephemeral']],
    ['choices of arguments', ['completion', 'f'], ['fish']],
    ['options behind one with a value', ['jobs', 'submit', '--gpus', '2', 'x', '--pri'], ['--priority']],
    ['options of a demo', ['demo', '--ke'], ['--keep']],
    ['names of priorities', ['jobs', 'submit', 'x', '--priority', 'u'], ['urgent']],
    ['names of priorities as arguments', ['jobs', 'priority', 'j_1', 'c'], ['critical']],
    ['statuses', ['jobs', 'list', '--status', 'ca'], ['cancelling', 'cancelled']],
    ['options that begin with no', ['jobs', 'submit', 'x', '--no'], ['--no-data', '--no-wait']],
    ['no option after --', ['workers', 'get', '--', '--j'], []],
    ['nothing where anything may stand', ['workers', 'create', ''], []],
    ['nothing of an argument that has gone by', ['completion', 'bash', ''], []],
    ['nothing after the last argument', ['jobs', 'get', 'j_1', ''], []],
    ['nothing of commands that there are not', ['nonsense', 'dr'], []],
  ])('%s', async (_what, words, found) => {
    expect(await complete(words)).toEqual({ found, own: ':' });
  });

  test('an option that was given is not offered again, unless it gathers', async () => {
    const { found } = await complete([
      'workers',
      'create',
      'x',
      '--type',
      'ephemeral',
      '--label',
      'a=b',
      '--',
    ]);
    expect(found).not.toContain('--type');
    expect(found).toContain('--label');
    expect((await complete(['workers', 'list', '--json', '--j'])).found).toEqual([]);
  });

  test.each([
    [['jobs', 'submit', ''], ':file'],
    [['jobs', 'submit', '--token-file', ''], ':file'],
    [['server', '--data-dir', ''], ':folder'],
    [['server', '--data-dir=/t'], ':folder'],
  ])('%j is for the shell to complete', async (words, own) => {
    expect(await complete(words)).toEqual({ found: [], own });
  });

  test('hidden commands are not offered', async () => {
    expect((await complete([''])).found).not.toContain('__complete');
    expect((await runTrainyard(['--help'])).out).not.toContain('__complete');
  });

  test('bash takes lines apart at =, and wants only what stands behind it', async () => {
    const words = ['workers', 'create', 'x', '--label', 'gpu', '=', 'a100', '--type', '='];
    expect((await complete(words, 'bash')).found).toEqual(['persistent', 'ephemeral']);
    expect((await complete([...words, 'e'], 'bash')).found).toEqual(['ephemeral']);
  });

  test('no orchestrator: no names, no noise', async () => {
    expect(await complete(['workers', 'get', ''])).toEqual({ found: [], own: ':' });
    expect(await complete(['jobs', 'list', '--worker', ''])).toEqual({ found: [], own: ':' });
    expect(await complete(['jobs', 'get', '--url', 'http://127.0.0.1:1', '--token', 'x', ''])).toEqual({
      found: [],
      own: ':',
    });
  });
});
