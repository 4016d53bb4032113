import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Block, doesRun, isShell } from './blocks.ts';

export interface PageRun {
  /** The failed command with its page, line and output; null when all blocks succeeded. */
  readonly failure: string | null;
  /** Returns the stdout of a block. */
  printed(block: Block): string;
}

export interface PageSession {
  readonly home: string;
  /** The folder in which the commands run. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Patterns of addresses in the docs, with their replacements. */
  readonly addresses: readonly (readonly [RegExp, string])[];
}

const end = 'END_OF_BLOCK';

/**
 * Runs the blocks of a page, in order, in one shell. Each line has the same number in the script as on the page. When a command
 * fails, the line number that the shell reports is therefore valid for the page.
 */
export async function runPage(blocks: readonly Block[], session: PageSession): Promise<PageRun> {
  const { home, folder, env } = session;
  const outputs = join(home, 'outputs');
  mkdirSync(outputs);
  const page = blocks[0]?.page ?? '';
  const script = join(home, 'page.sh');
  writeFileSync(script, scriptOf(blocks.filter(doesRun), outputs, session));
  const report = join(home, 'failed');
  const prelude = `set -eE -o pipefail; trap 'echo "$LINENO $BASH_COMMAND" >>"${report}"' ERR; source "${script}"`;
  const hasSucceeded = await new Promise<boolean>(resolve => {
    const shell = execFile('bash', ['-c', prelude], { cwd: folder, env: { ...env } }, cause =>
      resolve(cause === null),
    );
    shell.stdin?.end();
  });
  const read = (name: string): string =>
    existsSync(join(outputs, name)) ? readFileSync(join(outputs, name), 'utf8') : '';
  const printed = (block: Block): string => read(`${block.line}.out`);
  if (hasSucceeded) return { failure: null, printed };
  const [lastCommand = ''] = existsSync(report) ? readFileSync(report, 'utf8').split('\n') : [];
  const [, line = '0', command = 'the shell ended'] = /^(\d+) (.*)$/.exec(lastCommand) ?? [];
  const last = blocks.findLast(block => doesRun(block) && block.line <= Number(line));
  const texts = last === undefined ? [] : [read(`${last.line}.out`), read(`${last.line}.err`)];
  return { failure: [`${page}:${line}: ${command}`, ...texts].join('\n'), printed };
}

function scriptOf(blocks: readonly Block[], outputs: string, { addresses }: PageSession): string {
  const lines: string[] = [];
  for (const block of blocks) {
    while (lines.length < block.line - 1) lines.push('');
    lines.push(openingOf(block, outputs), ...block.lines, isShell(block) ? ':' : end);
  }
  const text = `${lines.join('\n')}\n`;
  return addresses.reduce((shaped, [pattern, address]) => shaped.replaceAll(pattern, address), text);
}

/** Returns the script line that replaces the opening fence. */
function openingOf(block: Block, outputs: string): string {
  const [out, err] = [join(outputs, `${block.line}.out`), join(outputs, `${block.line}.err`)];
  if (block.file !== null) return `mkdir -p '${dirname(block.file)}'; cat >'${block.file}' <<'${end}'`;
  return isShell(block) ? `exec >'${out}' 2>'${err}'` : `python3 - >'${out}' 2>'${err}' <<'${end}'`;
}
