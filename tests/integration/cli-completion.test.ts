/** The scripts of `trainyard completion` in real shells. Tests skip shells that are not installed. */
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { cliFile } from '../support/program-files.ts';
import { runTrainyard } from '../support/cli.ts';
import { temporaryFolder } from '../support/processes.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

let server: TestServer;
const bin = temporaryFolder();
beforeAll(async () => {
  server = await startTestServer();
  await server.createWorker({ name: 'rig-1' });
  await server.createWorker({ name: 'big rig' });
  const program = join(bin, 'trainyard');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${cliFile}' "$@"\n`);
  chmodSync(program, 0o755);
  mkdirSync(join(bin, 'rigs'));
  writeFileSync(join(bin, 'my config.json'), '{}');
});
afterAll(() => server.close());

/** Runs a script in a shell that finds `trainyard` on its PATH. Returns the lines of its output. */
async function run(shell: string, script: string): Promise<readonly string[]> {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`, HOME: bin };
  const { stdout, stderr } = await promisify(execFile)(shell, ['-c', script], { env, cwd: bin });
  expect(stderr).toBe('');
  return stdout.trimEnd().split('\n');
}

/**
 * Returns a bash script that prints each completion of the last word, in brackets. The script sets the same variables as
 * Readline does while a user types.
 */
const completeInBash = (...words: readonly string[]): string =>
  `COMP_WORDS=(trainyard ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; ` +
  `_trainyard trainyard; printf '[%s]' "\${COMPREPLY[@]}"; echo`;

/** Returns the words in brackets, sorted. */
const bracketedWords = (line: string): readonly string[] =>
  line.startsWith('[') ? line.slice(1, -1).split('][').toSorted() : [line];

describe('__complete', () => {
  /** Returns the completions of the last word, including names from the orchestrator. */
  const completeLast = async (...line: readonly string[]): Promise<readonly string[]> => {
    const [lastWord = '', ...before] = line.toReversed();
    const argv = [...before.toReversed(), '--data-dir', server.dataDir, lastWord];
    const { code, out } = await runTrainyard(['__complete', 'zsh', ...argv]);
    expect(code).toBe(0);
    return out
      .split('\n')
      .slice(0, -2)
      .map(completion => completion.split('\t')[0] ?? '');
  };

  test('completes only the ids of jobs to which the command applies', async () => {
    const waiting = await server.submit({ config: {} });
    const blocked = await server.submit({ config: {}, requires_approval: true });
    const ended = await server.submit({ config: {} });
    await server.admin.call(queueApi.cancel, { params: { id: ended } });
    const expected: Readonly<Record<string, readonly string[]>> = {
      get: [ended, blocked, waiting],
      cancel: [blocked, waiting],
      watch: [blocked, waiting],
      priority: [blocked, waiting],
      top: [blocked, waiting],
      approve: [blocked],
      reject: [blocked],
      retry: [ended],
      delete: [ended],
    };
    for (const [command, ids] of Object.entries(expected))
      expect([command, await completeLast('jobs', command, '')]).toEqual([command, ids]);
    expect(await completeLast('jobs', 'priority', waiting, 'u')).toEqual(['urgent']);
  });

  test('completes worker names as arguments and as option values', async () => {
    for (const command of ['label', 'rename', 'drain'])
      expect(await completeLast('workers', command, 'rig')).toEqual(['rig-1']);
    const before = ['jobs', 'list', '--data-dir', server.dataDir, '--worker'];
    const { out } = await runTrainyard(['__complete', 'zsh', ...before, 'big']);
    expect(out).toMatch(/^big rig\t/);
  });
});

describe.skipIf(!isInstalled('bash'))('completion in bash', () => {
  test('completes commands, worker names, choices and files in bash', async () => {
    const folder = ['--data-dir', server.dataDir];
    const lines = await run(
      'bash',
      [
        'source <(trainyard completion bash); complete -p trainyard',
        completeInBash('workers', 'drain', ...folder, ''),
        completeInBash('workers', 'drain', ...folder, 'big\\ r'),
        completeInBash('workers', 'create', 'x', '--type', '=', 'e'),
        completeInBash('jobs', 'submit', 'my'),
        completeInBash('server', '--data-dir', 'ri'),
      ].join('\n'),
    );
    expect(lines.map(bracketedWords)).toEqual([
      ['complete -F _trainyard trainyard'],
      ['big\\ rig', 'rig-1'],
      ['big\\ rig'],
      ['ephemeral'],
      ['my config.json'],
      ['rigs'],
    ]);
  });

  test('completes nothing in bash when no orchestrator runs', async () => {
    const lines = await run(
      'bash',
      `source <(trainyard completion bash)\n${completeInBash('workers', 'get', '--data-dir', '/nonexistent', '')}`,
    );
    expect(lines).toEqual(['[]']);
  });
});

describe.skipIf(!isInstalled('zsh'))('completion in zsh', () => {
  test('completes commands in an interactive zsh', async () => {
    const lines = await run(
      'zsh',
      `zmodload zsh/zpty
       zpty shell 'PS1= TERM=dumb zsh -f -i'
       zpty -w shell 'autoload -Uz compinit; compinit -D; source <(trainyard completion zsh); print REA""DY'
       zpty -r shell text '*READY*'
       zpty -w -n shell $'trainyard workers get --data-dir ${server.dataDir} rig\\t--js\\t; print DO""NE\\n'
       zpty -r shell text '*DONE*'
       print -r -- $text
       zpty -d shell`,
    );
    // The words `rig` and `--js` are incomplete, and would be invalid without completion.
    expect(lines.join('\n')).toMatch(/"name": "rig-1".*DONE/s);
  });
});

describe.skipIf(!isInstalled('fish'))('completion in fish', () => {
  test('completes commands and worker names with descriptions in fish', async () => {
    const lines = await run(
      'fish',
      `trainyard completion fish | source
       complete -C 'trainyard workers unq'
       complete -C 'trainyard workers drain --data-dir ${server.dataDir} rig'
       complete -C 'trainyard jobs submit my'`,
    );
    expect(lines).toEqual([
      'unquarantine\tRelease a worker from quarantine',
      expect.stringMatching(/^rig-1\tw_\w+ {2}connecting/),
      'my config.json',
    ]);
  });
});
