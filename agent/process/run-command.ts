/**
 * Runs programs such as the GPU vendors' tools. Failures are values, because a probe must neither throw nor block the
 * agent.
 */

import { execFile } from 'node:child_process';
import type { ExecFileException } from 'node:child_process';

export type CommandResult =
  | { readonly kind: 'exited'; readonly code: number; readonly stdout: string; readonly stderr: string }
  /** The program does not exist. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'timed_out'; readonly timeoutMs: number }
  /** The program could not be started, was killed, or printed too much. */
  | { readonly kind: 'failed'; readonly message: string };

export type RunCommand = (command: string, args: readonly string[]) => Promise<CommandResult>;

export interface RunCommandOptions {
  /** The environment of the programs: the agent's own, mainly for PATH. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
  /** The maximum size of stdout and of stderr, each in bytes. */
  readonly maxBytes?: number;
}

function resultOf(error: ExecFileException | null, stdout: string, stderr: string): CommandResult {
  if (error === null) return { kind: 'exited', code: 0, stdout, stderr };
  if (typeof error.code === 'number') return { kind: 'exited', code: error.code, stdout, stderr };
  if (error.code === 'ENOENT') return { kind: 'missing' };
  return { kind: 'failed', message: error.signal ? `it was killed by ${error.signal}` : error.message };
}

/**
 * Runs programs without a shell, with bounded output, and in the C locale, so that their messages are in English. Resolves
 * after the timeout even when the program cannot be killed: nvidia-smi stuck in the driver (state D) ignores SIGKILL,
 * and a grandchild may keep the pipes open.
 */
export function createRunCommand(options: RunCommandOptions): RunCommand {
  const { environment, timeoutMs = 10_000, maxBytes = 1024 * 1024 } = options;
  const settings = {
    env: { ...environment, LC_ALL: 'C' },
    maxBuffer: maxBytes,
    killSignal: 'SIGKILL',
    windowsHide: true,
    encoding: 'utf8',
  } as const;
  return (command, args) =>
    new Promise(resolve => {
      try {
        const child = execFile(command, args, settings, (error, stdout, stderr) => {
          clearTimeout(timer);
          resolve(resultOf(error, stdout, stderr));
        });
        const timer = setTimeout(() => {
          child.kill('SIGKILL');
          child.stdout?.destroy();
          child.stderr?.destroy();
          child.unref();
          resolve({ kind: 'timed_out', timeoutMs });
        }, timeoutMs);
      } catch (error) {
        // Node throws for some arguments (a NUL character) and some spawn failures (no memory).
        resolve({ kind: 'failed', message: String(error) });
      }
    });
}

/**
 * Runs the first of `commands` that exists, because the PATH of a service often lacks folders of a login shell. If `run`
 * rejects, the command counts as failed.
 */
export async function runFirst(
  run: RunCommand,
  commands: readonly string[],
  args: readonly string[],
): Promise<CommandResult> {
  for (const command of commands) {
    const result = await run(command, args).catch(
      (error: unknown): CommandResult => ({ kind: 'failed', message: String(error) }),
    );
    if (result.kind !== 'missing') return result;
  }
  return { kind: 'missing' };
}
