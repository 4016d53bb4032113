import { globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import config from '../../oxlint.config.ts';

const repository = resolve(import.meta.dirname, '../..');
const ignoredFolders = ['node_modules', 'dist', 'coverage', 'test-results'];

/** Rules that no file may disable. */
const unconditional = /max-lines|boundaries|no-cycle|no-restricted-(globals|properties|imports)/;

const files = globSync(['**/*', '**/.*'], {
  cwd: repository,
  exclude: path => ignoredFolders.includes(basename(path)),
});
const sources = files
  .filter(file => /\.[cm]?[jt]sx?$/.test(file))
  .map(file => ({ file, text: readFileSync(join(repository, file), 'utf8') }));

function filesWith(pattern: RegExp): string[] {
  return sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file);
}

describe('lint configuration', () => {
  it('limits the length of every file', () => {
    expect(config.rules['max-lines']).toEqual([
      'error',
      { max: 500, skipBlankLines: false, skipComments: false },
    ]);
    expect(config.overrides.filter(({ rules }) => 'max-lines' in rules)).toEqual([]);
  });

  it('limits the length of every function, and skips describe blocks only in the tests folder', () => {
    const relaxed = config.overrides.filter(({ rules }) => 'max-lines-per-function' in rules);
    expect(relaxed.flatMap(override => override.files)).toEqual(['tests/**']);
  });

  it('applies the import rules to every file', () => {
    const overriddenRules = config.overrides.flatMap(({ rules }) => Object.keys(rules));
    expect(
      overriddenRules.filter(rule => rule.startsWith('boundaries/') || rule === 'import/no-cycle'),
    ).toEqual([]);
  });

  it('ignores only build outputs', () => {
    expect(config.ignorePatterns).toEqual(ignoredFolders);
    expect(config.overrides.filter(override => 'excludeFiles' in override)).toEqual([]);
    const otherConfigFile = /^(\.oxlintrc\.jsonc?|oxlint\.config\.\w+|\.eslintignore|\.oxlintignore)$/;
    expect(files.filter(file => otherConfigFile.test(basename(file)))).toEqual(['oxlint.config.ts']);
  });

  it('finds no directive in any file that disables a rule without exceptions', () => {
    expect(sources.length).toBeGreaterThan(5);
    expect(filesWith(new RegExp(`oxlint-disable.*(${unconditional.source})`))).toEqual([]);
  });

  it('finds no import() with a template string, which the import rules do not check', () => {
    expect(filesWith(/\bimport\(\s*`[^$`]*`/)).toEqual([]);
  });
});
