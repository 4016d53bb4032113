/**
 * `npm run check:text`: finds misplaced files, replaced names, comments with unclear openings, and long lines and broken links in
 * Markdown.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBrokenLinks, findLongLines } from './markdown.ts';
import { findOldWords, findRelativeOpeners, findStrays } from './sources.ts';

const root = join(import.meta.dirname, '../..');
const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
const files = listed
  .split('\0')
  .filter(name => /\.(?:tsx?|md)$/.test(name) && existsSync(join(root, name)))
  .map(name => ({ name, text: readFileSync(join(root, name), 'utf8') }));
const pages = files.filter(({ name }) => name.endsWith('.md'));
const sources = files.filter(({ name }) => !name.endsWith('.md'));
// The lint's own files contain the names that they forbid.
const checkedSources = sources.filter(({ name }) => !/(?:^|\/)dev\/lint\//.test(name));

const findings = [
  ...findStrays(sources),
  ...checkedSources.flatMap(findOldWords),
  ...checkedSources.flatMap(findRelativeOpeners),
  ...pages.flatMap(findLongLines),
  ...findBrokenLinks(pages, path => existsSync(join(root, path))),
];
for (const finding of findings) console.log(finding);
console.log(`${findings.length} findings in ${files.length} files`);
if (findings.length > 0) process.exitCode = 1;
