import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseBlocks } from '../../support/docs/blocks.ts';
import { createCommands, findBadCommands } from '../../support/docs/command-check.ts';
import { runPage } from '../../support/docs/page-session.ts';
import { findMissingKeys } from '../../support/docs/responses.ts';
import { temporaryFolder } from '../../support/processes.ts';

const page = (...lines: readonly string[]) => parseBlocks('page.md', lines.join('\n'));
const block = (fence: string, ...lines: readonly string[]) => page(`\`\`\`${fence}`, ...lines, '```');

describe('parseBlocks', () => {
  it('reads the attributes of a fence and removes the indentation of a list item', () => {
    expect(page('1. Do this:', '', '   ```sh no-run=root', '   ls', '   ```')).toMatchObject([
      { line: 3, language: 'sh', noRun: 'root', lines: ['ls'] },
    ]);
  });

  it('rejects an unknown reason, language or attribute, and a block without an end', () => {
    expect(() => block('sh no-run=lazy')).toThrow(/page\.md:1: "no-run=lazy" gives none of the reasons/);
    expect(() => block('cobol')).toThrow('page.md:1: unknown language "cobol"');
    expect(() => block('sh norun=root')).toThrow('page.md:1: unknown word "norun=root"');
    expect(() => page('```sh', 'ls')).toThrow('page.md:1: the block has no end');
  });
});

describe('findBadCommands', () => {
  it.each([
    ['trainyard jobs sumbit my-config', 'jobs has no command sumbit'],
    ['trainyard jobs', 'jobs needs a command'],
    ['x=$(trainyard jobs list --stats x) && true', 'list has no option --stats'],
    ['sudo trainyard server --port', '--port needs a value'],
    ['trainyard workers rotate | cat', 'worker is missing'],
    ['trainyard completion cmd.exe', 'cmd.exe is not a possible value'],
    ['npm run -s trainyard -- jobs list --status sleeping', '--status cannot be sleeping'],
    ['podman exec yard node dist/main/cli.js link now', 'link has no command now'],
    ['/opt/trainyard-worker --pinn sha256:...', 'worker has no option --pinn'],
  ])('reports the problem of the command "%s"', async (line, problem) => {
    const [report = ''] = findBadCommands(await createCommands(), block('sh', line)[0]!);
    expect(report).toMatch(new RegExp(`^page\\.md:1: trainyard .*: ${problem.replaceAll('.', '\\.')}$`));
  });

  it('accepts commands with placeholders, quotes, comments and redirections', async () => {
    const lines = [
      "trainyard jobs submit my-config --label 'gpu_type=a100*' > job.txt 2>&1 # --nonsense",
      'trainyard worker ... --allow-config-scripts a,b',
      'trainyard workers create rig-1 -o install_command |',
      '  sed "s|a|b|"; echo "trainyard nonsense"',
    ];
    expect(findBadCommands(await createCommands(), block('sh', ...lines)[0]!)).toEqual([]);
  });
});

describe('runPage', () => {
  const run = (...lines: readonly string[]) => {
    const home = temporaryFolder();
    const folder = join(home, 'work');
    mkdirSync(folder);
    const env = { PATH: process.env['PATH'] };
    return runPage(page(...lines), { home, folder, env, addresses: [[/there/g, 'here']] });
  };

  it('names the page, line and output of the command that fails', async () => {
    const { failure } = await run(
      '# Title',
      '```sh',
      'echo one',
      'echo two; ls missing-file',
      'echo three',
      '```',
    );
    expect(failure).toMatch(/^page\.md:4: ls missing-file\none\ntwo\n\n.*missing-file/);
  });

  it('runs all blocks in one shell, skips blocks marked no-run, and replaces addresses', async () => {
    const lines = [
      '```sh',
      'name=there',
      '```',
      '```sh no-run=root',
      'exit 1',
      '```',
      '```sh',
      'echo $name',
      '```',
    ];
    const { failure, printed } = await run(...lines);
    expect(failure).toBeNull();
    expect(printed(page(...lines)[2]!)).toBe('here\n');
  });
});

describe('findMissingKeys', () => {
  /** Compares the response in a page with the real output of its command. */
  const compare = (documented: unknown, realOutput: string) =>
    findMissingKeys(
      page('```sh', '```', '```json response', JSON.stringify(documented), '```'),
      () => realOutput,
    );

  it('reports documented keys that the output lacks or has with another type', () => {
    expect(compare({ a: 1, b: [{ c: null }] }, '{"a":"1","b":[{"c":1},{"d":2}]}')).toEqual([
      expect.stringMatching(/^page\.md:3: \.a is "1" in /),
      expect.stringMatching(/^page\.md:3: \.b\[0\]\.c is 1 in /),
    ]);
    expect(compare({}, 'no JSON')).toEqual([expect.stringContaining('printed no JSON')]);
  });

  it('compares a shortened response with the last line of the output', () => {
    expect(compare({ a: [{ c: 1 }] }, '{}\n{"a":[{"d":2},{"c":7}],"b":true}')).toEqual([]);
  });
});
