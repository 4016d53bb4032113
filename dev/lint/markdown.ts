import { dirname, posix } from 'node:path';
import { at, type Finding, type SourceFile } from './sources.ts';

const maxColumns = 100;
const tableRow = /^\s*\|/;
/** A line that cannot be wrapped: a single link, image, URL or code span, with or without a list marker. */
const unbreakable =
  /^\s*(?:(?:[-*>]|\d+\.)\s+)*(?:!?\[[^\]]*\]\([^)]*\)|\[[^\]]+\]:.*|(?:<img [^>]*>\s*)+|\S+|`[^`]*`\S*)$/;

interface Line {
  readonly number: number;
  readonly text: string;
}

/** Finds lines of prose that are too long. Ignores tables, code blocks and long links, which cannot be wrapped. */
export const findLongLines = ({ name, text }: SourceFile): readonly Finding[] =>
  proseOf(text)
    .filter(
      line => line.text.length > maxColumns && !tableRow.test(line.text) && !unbreakable.test(line.text),
    )
    .map(line => at(name, line.number, `${line.text.length} columns: wrap prose at ${maxColumns}`));

/** Finds links to missing files, and to missing headings of the linked page. */
export function findBrokenLinks(
  pages: readonly SourceFile[],
  exists: (path: string) => boolean,
): readonly Finding[] {
  const anchors = new Map(pages.map(({ name, text }) => [name, anchorsOf(proseOf(text))]));
  return pages.flatMap(({ name, text }) =>
    proseOf(text).flatMap(line =>
      targetsIn(line.text).flatMap(target => {
        const [path = '', anchor] = target.split('#', 2);
        const file = path === '' ? name : posix.join(dirname(name), path);
        const isFound = exists(file) && (anchor === undefined || anchors.get(file)?.has(anchor) !== false);
        return isFound ? [] : [at(name, line.number, `links to ${target}, which does not exist`)];
      }),
    ),
  );
}

function targetsIn(text: string): readonly string[] {
  const links = text.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^()\s]+)\)|<img [^>]*src="([^"]+)"/g);
  return [...links]
    .map(([, inline = '', image = inline]) => image)
    .filter(target => !/^[a-z]+:/i.test(target));
}

/** Returns the lines of a page outside of code fences. */
function proseOf(page: string): readonly Line[] {
  const lines: Line[] = [];
  let fence: string | null = null;
  for (const [index, text] of page.split('\n').entries()) {
    const fenceMark = /^\s*(`{3,}|~{3,})/.exec(text)?.[1] ?? null;
    if (fence === null && fenceMark === null) lines.push({ number: index + 1, text });
    else if (fence === null) fence = fenceMark;
    else if (fenceMark?.startsWith(fence) === true) fence = null;
  }
  return lines;
}

/** Returns the anchors of a page: those that GitHub derives from headings, and ids of `<a id>` elements. */
function anchorsOf(lines: readonly Line[]): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const { text } of lines) {
    for (const [, id = ''] of text.matchAll(/<a id="([^"]+)"/g)) anchors.add(id);
    const heading = /^#{1,6}\s+(.*?)\s*$/.exec(text)?.[1];
    if (heading === undefined) continue;
    const title = heading.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = title.replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}
