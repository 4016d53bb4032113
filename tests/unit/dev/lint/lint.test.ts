import { describe, expect, it } from 'vitest';
import { findBrokenLinks, findLongLines } from '../../../../dev/lint/markdown.ts';
import {
  findOldWords,
  findRelativeOpeners,
  findStrays,
  type SourceFile,
} from '../../../../dev/lint/sources.ts';

const file = (name: string, text = ''): SourceFile => ({ name, text });

describe('findStrays', () => {
  it('reports a file that must be in a subfolder', () => {
    expect(findStrays([file('agent/helper.ts'), file('main/http/misc.ts')])).toEqual([
      'agent/helper.ts:1: is not in a subfolder of agent/: move it into one',
      'main/http/misc.ts:1: is not in a subfolder of main/http/: move it into one',
    ]);
  });

  it('accepts files in subfolders, the named exceptions, and folders that need no subfolders', () => {
    const files = ['agent/gpu/probe.ts', 'agent/main.ts', 'main/http/server.ts', 'protocol/job.ts'];
    expect(findStrays(files.map(name => file(name)))).toEqual([]);
  });

  it('reports a unit test whose folder does not mirror a source folder', () => {
    const files = [file('agent/gpu/probe.ts'), file('tests/unit/agent/cards/probe.test.ts')];
    expect(findStrays(files)).toEqual([
      'tests/unit/agent/cards/probe.test.ts:1: has no source folder: agent/cards/ does not exist',
    ]);
  });

  it('accepts a unit test whose folder mirrors a source folder or a folder of test tools', () => {
    const files = [
      'agent/gpu/probe.ts',
      'tests/unit/agent/gpu/probe.test.ts',
      'tests/unit/chaos/plan.test.ts',
    ];
    expect(findStrays([...files, 'tests/chaos/plan.ts'].map(name => file(name)))).toEqual([]);
  });
});

describe('findOldWords', () => {
  it('reports an identifier with an old word, with its line and the standard term', () => {
    expect(findOldWords(file('a.ts', "import { x } from './x.ts';\nconst hindrances = x;\n"))).toEqual([
      'a.ts:2: hindrances: use the standard term (JobBlocker)',
    ]);
    expect(findOldWords(file('a.ts', 'export interface WorkerParts {}'))).toHaveLength(1);
    expect(findOldWords(file('a.ts', 'const mostJobs = 1;'))).toHaveLength(1);
  });

  it('accepts old words in comments, strings, templates and regular expressions', () => {
    const text = "// a hindrance\n/* Surroundings */ const a = 'sieve', b = `sieve`, c = /sieve/;\n";
    expect(findOldWords(file('a.ts', text))).toEqual([]);
  });

  it('accepts identifiers in which an old word is only a part of a word', () => {
    expect(findOldWords(file('a.ts', 'const utmost = parts; const almostAll = 1;'))).toEqual([]);
  });
});

describe('findRelativeOpeners', () => {
  it.each([
    'Of each kind; the first wins.',
    'What is refused leaves no trace.',
    'What the worker reports about itself.',
    'Who calls must hold the lock.',
    'By which limits count.',
    'For how long it lasts.',
    'How long to wait, in ms.',
  ])('reports the relative clause at the start of the comment "%s"', comment => {
    expect(findRelativeOpeners(file('a.ts', `/** ${comment} */\n`))).toHaveLength(1);
    expect(findRelativeOpeners(file('a.ts', `const a = 1;\n  // ${comment}\n`))).toHaveLength(1);
  });

  it('accepts a comment that names its subject', () => {
    const text =
      '/** Returns the limits of each kind. */\n// The caller must hold the lock.\n// What if it ends now? It is retried.\n// How can that be? The clock was set.\n';
    expect(findRelativeOpeners(file('a.ts', text))).toEqual([]);
  });
});

describe('findLongLines', () => {
  const long = 'word '.repeat(30).trim();

  it('reports prose of more than 100 columns', () => {
    expect(findLongLines(file('a.md', `# Title\n\n${long}\n`))).toEqual([
      'a.md:3: 149 columns: wrap prose at 100',
    ]);
  });

  it('accepts long lines in tables and code blocks, and long links', () => {
    const link = `[text](https://example.com/${'x'.repeat(100)})`;
    expect(findLongLines(file('a.md', `| ${long} |\n\n\`\`\`sh\n${long}\n\`\`\`\n\n- ${link}\n`))).toEqual(
      [],
    );
  });
});

describe('findBrokenLinks', () => {
  const pages = [
    file('docs/a.md', '# A\n\n[b](b.md#two-words) [none](c.md) [lost](b.md#three) [self](#a)\n'),
    file('docs/b.md', '## Two words\n\n`[code](nowhere.md)` <https://example.com>\n'),
  ];

  it('reports links to files and headings that do not exist', () => {
    expect(findBrokenLinks(pages, path => pages.some(({ name }) => name === path))).toEqual([
      'docs/a.md:3: links to c.md, which does not exist',
      'docs/a.md:3: links to b.md#three, which does not exist',
    ]);
  });
});
