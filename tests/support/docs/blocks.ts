import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../processes.ts';

/**
 * Reasons why tests do not run a block of commands. A page gives the reason as `no-run=REASON` after the language of the fence.
 */
const noRunReasons: ReadonlySet<string> = new Set([
  /** Needs a container engine. */
  'container',
  /** Asks questions on a terminal, or is for the startup file of an interactive shell. */
  'interactive',
  /** Installs or builds something, or runs an npm script. */
  'install',
  /** Starts a program that runs until it is stopped. */
  'foreground',
  /** Needs an operating system other than Linux. */
  'other-os',
  /** Contains values that the reader must replace, or omits something. */
  'placeholder',
  /** Runs on another machine, such as a rig. */
  'remote',
  /** Needs root, or the machine's own service manager. */
  'root',
]);

/** The known languages of fences. `parseBlocks` throws for other languages. */
const languages: ReadonlySet<string> = new Set(
  ' sh bash python js json yaml toml text ini nginx caddy dockerfile mermaid powershell'.split(' '),
);

export interface Block {
  /** Path of the page below the repository. */
  readonly page: string;
  /** Line of the opening fence, starting at 1. */
  readonly line: number;
  readonly language: string;
  readonly lines: readonly string[];
  readonly noRun: string | null;
  /** With `file=NAME`: the path of a file in the reader's folder, whose content is the block. Otherwise null. */
  readonly file: string | null;
  /** True when the block shows the output of the block before it (`response`). */
  readonly isResponse: boolean;
}

export const placeOf = ({ page, line }: Block): string => `${page}:${line}`;
export const textOf = ({ lines }: Block): string => lines.join('\n');
export const isShell = ({ language }: Block): boolean => language === 'sh' || language === 'bash';
export const doesRun = (block: Block): boolean =>
  block.noRun === null && (isShell(block) || block.language === 'python' || block.file !== null);

/** Returns README.md and all pages below `docs`, as paths relative to the repository. */
export function listPages(): readonly string[] {
  const below = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name.replaceAll('\\', '/')}`);
  return ['README.md', ...below.toSorted()];
}

export const readBlocks = (page: string): readonly Block[] =>
  parseBlocks(page, readFileSync(join(root, page), 'utf8'));

/** Returns the inline commands in the sentences of a page. The added `...` marks that a sentence may omit arguments. */
export function readInlineCommands(page: string): readonly Block[] {
  const whole = readFileSync(join(root, page), 'utf8');
  const prose = whole.replaceAll(/^\s*(`{3,})[\s\S]*?^\s*\1\s*$/gm, block => block.replaceAll(/[^\n]/g, ''));
  return [...prose.matchAll(/`((?:trainyard|npm run)[ -][^`]+)`/g)].map(({ 1: code = '', index }) => ({
    ...parseInfo(page, prose.slice(0, index).split('\n').length, 'sh'),
    lines: [`${code.replaceAll(/\s+/g, ' ')} ...`],
  }));
}

export function parseBlocks(page: string, markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { readonly fence: RegExp; readonly indent: string; readonly block: Block } | null = null;
  let lines: string[] = [];
  for (const [index, line] of markdown.split('\n').entries()) {
    if (open === null) {
      const [, indent = '', marks, info = ''] = /^(\s*)(`{3,})(.*)$/.exec(line) ?? [];
      if (marks === undefined) continue;
      open = { fence: new RegExp(`^\\s*${marks}\\s*$`), indent, block: parseInfo(page, index + 1, info) };
      lines = [];
    } else if (open.fence.test(line)) {
      blocks.push({ ...open.block, lines });
      open = null;
    } else lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
  }
  if (open !== null) throw new Error(`${placeOf(open.block)}: the block has no end`);
  return blocks;
}

function parseInfo(page: string, line: number, info: string): Block {
  const [language = '', ...words] = info.trim().split(/\s+/);
  const place = `${page}:${line}`;
  if (!languages.has(language)) throw new Error(`${place}: unknown language "${language}"`);
  const block = { page, line, language, lines: [], noRun: null, file: null, isResponse: false };
  return words.reduce<Block>((all, word) => {
    const [name = '', value = ''] = word.split('=', 2);
    if (name === 'response') return { ...all, isResponse: true };
    if (name === 'file' && value !== '') return { ...all, file: value };
    if (name !== 'no-run') throw new Error(`${place}: unknown word "${word}"`);
    if (noRunReasons.has(value)) return { ...all, noRun: value };
    throw new Error(`${place}: "${word}" gives none of the reasons ${[...noRunReasons].join(', ')}`);
  }, block);
}
