import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';

const repository = resolve(import.meta.dirname, '../..');

export interface Finding {
  readonly file: string;
  /** The line number, counted from 1. */
  readonly line: number;
  /** Name of the rule as oxlint prints it: `plugin(rule)`. `no rule` when a finding has none, such as a syntax error. */
  readonly rule: string;
  readonly message: string;
}

export interface LintResult {
  readonly files: number;
  readonly findings: readonly Finding[];
}

const Report = z.object({
  number_of_files: z.number(),
  diagnostics: z.array(
    z.object({
      message: z.string(),
      code: z.string().default('no rule'),
      severity: z.literal('error'),
      filename: z.string(),
      labels: z.array(z.object({ span: z.object({ line: z.number() }) })).default([]),
    }),
  ),
});

/** Lints these sources (text by path) with the repository's lint configuration, compiler options and packages. */
export async function lintTree(sources: ReadonlyMap<string, string>): Promise<LintResult> {
  const tree = realpathSync(mkdtempSync(join(tmpdir(), 'trainyard-rules-')));
  try {
    for (const name of ['oxlint.config.ts', 'tsconfig.json', 'package.json']) {
      copyFileSync(join(repository, name), join(tree, name));
    }
    symlinkSync(join(repository, 'node_modules'), join(tree, 'node_modules'), 'junction');
    for (const [file, source] of sources) {
      mkdirSync(dirname(join(tree, file)), { recursive: true });
      writeFileSync(join(tree, file), source);
    }
    const report = Report.parse(JSON.parse(await runOxlint(tree)));
    return {
      files: report.number_of_files,
      findings: report.diagnostics.map(({ filename, labels, code, message }) => ({
        file: filename,
        line: labels[0]?.span.line ?? 1,
        rule: code,
        message,
      })),
    };
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** Returns oxlint's JSON report. oxlint exits with 1 when it finds something, so the exit code is ignored. */
function runOxlint(cwd: string): Promise<string> {
  const oxlint = join(repository, 'node_modules/oxlint/bin/oxlint');
  return new Promise((done, fail) => {
    execFile(
      process.execPath,
      [oxlint, '--format=json'],
      { cwd, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (stdout.startsWith('{')) done(stdout);
        else fail(new Error(`oxlint printed no report: ${stdout}${stderr}`, { cause: error }));
      },
    );
  });
}
