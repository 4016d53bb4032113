import { chmodSync, cpSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCommandEngine } from '../../main/engines/command/index.ts';
import { createRunProgram } from '../../main/engines/run-program.ts';
import type { Engine } from '../../main/orchestrator/ports/engines.ts';

/** Copies examples/engines/NAME to a new folder, as a user would. Returns the folder. */
export function installExample(name: string): string {
  const folder = join(mkdtempSync(join(tmpdir(), `${name}-`)), name);
  cpSync(join(import.meta.dirname, '../../examples/engines', name), folder, { recursive: true });
  chmodSync(folder, 0o755);
  for (const file of readdirSync(folder)) chmodSync(join(folder, file), file.includes('.') ? 0o644 : 0o755);
  return folder;
}

export interface RecordedCall {
  readonly argv: readonly string[];
  readonly stdin: string;
}

/** Creates a `command` engine that runs the programs in a folder, and records every call in `calls`. */
export const engineOn = (
  folder: string,
  fleet: string,
  env: Readonly<Record<string, string>>,
  calls: RecordedCall[] = [],
): Engine =>
  createCommandEngine({
    fleet,
    folder,
    start: order => `echo '${order.workerName}'`,
    run: (argv, options) => {
      calls.push({ argv, stdin: options.stdin ?? '' });
      return createRunProgram({ PATH: `/usr/bin:${process.env['PATH']}`, HOME: tmpdir(), ...env })(
        argv,
        options,
      );
    },
  });
