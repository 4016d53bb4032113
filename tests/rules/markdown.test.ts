import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const repository = resolve(import.meta.dirname, '../..');
const maxColumns = 100;
const tableRow = /^\s*\|/;
/** One link, image, URL or code span, perhaps after a list marker: nothing to break. */
const unbreakable =
  /^\s*(?:(?:[-*>]|\d+\.)\s+)*(?:!?\[[^\]]*\]\([^)]*\)|\[[^\]]+\]:.*|(?:<img [^>]*>\s*)+|\S+|`[^`]*`\S*)$/;

interface Line {
  readonly place: string;
  readonly text: string;
}

const tracked = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: repository, encoding: 'utf8' });
const files = tracked.split('\0').filter(file => file !== '' && existsSync(join(repository, file)));
const pages = new Map(files.map(file => [file, readProse(file)] as const));

/** The lines of a page outside of code fences. */
function readProse(file: string): readonly Line[] {
  const lines: Line[] = [];
  let fence: string | null = null;
  for (const [at, text] of readFileSync(join(repository, file), 'utf8').split('\n').entries()) {
    const marks = /^\s*(`{3,}|~{3,})/.exec(text)?.[1] ?? null;
    if (fence === null && marks === null) lines.push({ place: `${file}:${at + 1}`, text });
    else if (fence === null) fence = marks;
    else if (marks?.startsWith(fence) === true) fence = null;
  }
  return lines;
}

/** The anchors that GitHub makes of headings, and those of `<a id>`. */
function findAnchors(lines: readonly Line[]): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const { text } of lines) {
    for (const [, id = ''] of text.matchAll(/<a id="([^"]+)"/g)) anchors.add(id);
    const heading = /^#{1,6}\s+(.*?)\s*$/.exec(text)?.[1];
    if (heading === undefined) continue;
    const shown = heading.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = shown.replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

function findBrokenLinks(from: string, { place, text }: Line): readonly string[] {
  const links = text.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^()\s]+)\)|<img [^>]*src="([^"]+)"/g);
  return [...links].flatMap(([, inline = '', target = inline]) => {
    const [path = '', anchor] = target.split('#', 2);
    if (/^[a-z]+:/i.test(target)) return [];
    const file = path === '' ? from : join(dirname(from), path);
    const isThere = existsSync(join(repository, file));
    const lines = anchor === undefined ? undefined : pages.get(file);
    const hasAnchor = lines === undefined || findAnchors(lines).has(anchor ?? '');
    return isThere && hasAnchor ? [] : [`${place}: ${target}`];
  });
}

describe('every tracked .md file', () => {
  it('wraps Markdown prose at 100 columns', () => {
    const prose = [...pages.values()]
      .flat()
      .filter(({ text }) => !tableRow.test(text) && !unbreakable.test(text));
    expect(prose.filter(({ text }) => text.length > maxColumns).map(({ place }) => place)).toEqual([]);
  });

  it('links only to files and headings that exist', () => {
    expect(pages.size).toBeGreaterThan(20);
    const broken = [...pages].flatMap(([file, lines]) => lines.flatMap(line => findBrokenLinks(file, line)));
    expect(broken).toEqual([]);
  });
});
