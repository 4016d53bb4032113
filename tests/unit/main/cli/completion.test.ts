// Tests completion without an orchestrator. Integration tests cover the completion of names that an orchestrator returns.
import { describe, expect, test } from 'vitest';
import { runTrainyard } from '../../../support/cli.ts';

// Returns the completions and a directive for the shell: `:` adds nothing, `:file` adds files, `:folder` adds folders.
async function complete(words: readonly string[], shell = 'zsh') {
  const { code, out, err } = await runTrainyard(['__complete', shell, ...words]);
  expect([code, err]).toEqual([0, '']);
  const lines = out.split('\n').slice(0, -1);
  return { completions: lines.slice(0, -1).map(line => line.split('\t')[0]), directive: lines.at(-1) };
}

describe('completing words', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['commands', ['work'], ['worker', 'workers']],
    ['subcommands of pools', ['pools', 're'], ['resume']],
    ['kinds of engines', ['pools', 'create', 'x', '--engine', ''], ['slurm', 'kubernetes', 'command']],
    [
      'options from the schema of pools',
      ['pools', 'set', 'x', '--max-'],
      ['--max-launches', '--max-waiting', '--max-gpus'],
    ],
    ['subcommands', ['jobs', 're'], ['reject', 'release', 'retry']],
    [
      'subcommands of queue',
      ['queue', ''],
      ['status', 'pause', 'resume', 'move', 'limits', 'cleanup', 'stats', 'usage', 'help'],
    ],
    ['options of a queue command', ['queue', 'limits', '--ma'], ['--max']],
    ['options', ['workers', 'drain', '--dea'], ['--deadline']],
    ['values of an option', ['workers', 'create', '--type', ''], ['persistent', 'ephemeral']],
    ['values after =', ['workers', 'create', '--type=e'], ['--type=ephemeral']],
    ['values of an argument', ['completion', 'f'], ['fish']],
    ['options after an option with a value', ['jobs', 'submit', '--gpus', '2', 'x', '--pri'], ['--priority']],
    ['options of demo', ['demo', '--ke'], ['--keep']],
    ['priorities as option values', ['jobs', 'submit', 'x', '--priority', 'u'], ['urgent']],
    ['priorities as arguments', ['jobs', 'priority', 'j_1', 'c'], ['critical']],
    ['statuses', ['jobs', 'list', '--status', 'ca'], ['cancelling', 'cancelled']],
    [
      'options that start with --no',
      ['jobs', 'submit', 'x', '--no'],
      ['--notes', '--nodes', '--no-data', '--no-wait'],
    ],
    ['no option after --', ['workers', 'get', '--', '--j'], []],
    ['nothing for an argument with free text', ['workers', 'create', ''], []],
    ['nothing for an argument that was already given', ['completion', 'bash', ''], []],
    ['nothing after the last argument', ['jobs', 'get', 'j_1', ''], []],
    ['nothing for an unknown command', ['nonsense', 'dr'], []],
  ])('completes %s', async (_case, words, completions) => {
    expect(await complete(words)).toEqual({ completions, directive: ':' });
  });

  test('offers an option only once, unless it can be repeated', async () => {
    const { completions } = await complete([
      'workers',
      'create',
      'x',
      '--type',
      'ephemeral',
      '--label',
      'a=b',
      '--',
    ]);
    expect(completions).not.toContain('--type');
    expect(completions).toContain('--label');
    expect((await complete(['workers', 'list', '--json', '--j'])).completions).toEqual([]);
  });

  test.each([
    [['jobs', 'submit', ''], ':file'],
    [['jobs', 'submit', '--token-file', ''], ':file'],
    [['pools', 'create', 'gpu', '--file', ''], ':file'],
    [['server', '--data-dir', ''], ':folder'],
    [['server', '--data-dir=/t'], ':folder'],
  ])('leaves the completion of %j to the shell with the directive %s', async (words, directive) => {
    expect(await complete(words)).toEqual({ completions: [], directive });
  });

  test('does not offer hidden commands', async () => {
    expect((await complete([''])).completions).not.toContain('__complete');
    expect((await runTrainyard(['--help'])).out).not.toContain('__complete');
  });

  test('completes the value after = in bash, which splits words at =', async () => {
    const words = ['workers', 'create', 'x', '--label', 'gpu', '=', 'a100', '--type', '='];
    expect((await complete(words, 'bash')).completions).toEqual(['persistent', 'ephemeral']);
    expect((await complete([...words, 'e'], 'bash')).completions).toEqual(['ephemeral']);
  });

  test('completes no names and prints no errors without an orchestrator', async () => {
    expect(await complete(['workers', 'get', ''])).toEqual({ completions: [], directive: ':' });
    expect(await complete(['jobs', 'list', '--worker', ''])).toEqual({ completions: [], directive: ':' });
    expect(await complete(['jobs', 'get', '--url', 'http://127.0.0.1:1', '--token', 'x', ''])).toEqual({
      completions: [],
      directive: ':',
    });
  });
});
