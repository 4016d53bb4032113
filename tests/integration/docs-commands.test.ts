/** Each code block in README.md and docs: its syntax, its commands, and its result when a reader runs it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parse as parseToml } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import {
  type Block,
  isShell,
  listPages,
  placeOf,
  readBlocks,
  readInlineCommands,
  textOf,
} from '../support/docs/blocks.ts';
import { createCommands, findBadCommands } from '../support/docs/command-check.ts';
import { describePages, firstPages } from '../support/docs/page-tests.ts';

const pages = listPages();
const otherPages = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'GLOSSARY.md', 'SECURITY.md'];
const allBlocks = pages.flatMap(readBlocks);

const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  json: text => JSON.parse(text) as unknown,
  yaml: parseYaml,
  toml: parseToml,
};

/** Returns position and error of each block for which the check throws. */
async function findFailures(
  blocks: readonly Block[],
  check: (block: Block) => unknown,
): Promise<readonly string[]> {
  const results = await Promise.allSettled(blocks.map(async block => check(block)));
  return results.flatMap((result, index) =>
    result.status === 'rejected' ? [`${placeOf(blocks[index]!)}: ${String(result.reason)}`] : [],
  );
}

describe('code blocks and commands of README.md and docs', () => {
  it('parses every JSON, YAML and TOML block of the docs', async () => {
    const blocks = allBlocks.filter(({ language }) => language in parsers);
    expect(await findFailures(blocks, block => parsers[block.language]?.(textOf(block)))).toEqual([]);
  });

  it('finds only valid syntax in the shell blocks of the docs', async () => {
    const run = promisify(execFile);
    expect(
      await findFailures(allBlocks.filter(isShell), block => run('bash', ['-nc', textOf(block)])),
    ).toEqual([]);
  });

  it('finds only existing trainyard commands and options in the docs', async () => {
    const program = await createCommands();
    const inSentences = [...pages, ...otherPages].flatMap(readInlineCommands);
    expect([...allBlocks, ...inSentences].flatMap(block => findBadCommands(program, block))).toEqual([]);
  });
});

describePages(firstPages);
