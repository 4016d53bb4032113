/** Runs the vendors' tools. Every outcome is a value: a probe must neither throw nor hang the agent. */

import { execFile } from 'node:child_process';
import type { ExecFileException } from 'node:child_process';
import type { GpuProblem } from './gpu-report.ts';

export type CommandResult =
  | { readonly kind: 'exited'; readonly code: number; readonly stdout: string; readonly stderr: string }
  /** There is no such program. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'timed_out'; readonly timeoutMs: number }
  /** It could not be started, was killed, or printed too much. */
  | { readonly kind: 'failed'; readonly message: string };

export type RunCommand = (command: string, args: readonly string[]) => Promise<CommandResult>;

export interface RunCommandOptions {
  /** For the programs: the agent's own, PATH above all. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
  /** Of stdout and of stderr, each. */
  readonly maxBytes?: number;
}

function resultOf(error: ExecFileException | null, stdout: string, stderr: string): CommandResult {
  if (error === null) return { kind: 'exited', code: 0, stdout, stderr };
  if (typeof error.code === 'number') return { kind: 'exited', code: error.code, stdout, stderr };
  if (error.code === 'ENOENT') return { kind: 'missing' };
  return { kind: 'failed', message: error.signal ? `it was killed by ${error.signal}` : error.message };
}

/**
 * A runner without a shell, its output bounded, in the C locale so that messages are the ones that are looked for.
 * It answers on time even when the program cannot be killed: nvidia-smi stuck in the driver (state D) ignores SIGKILL,
 * and a grandchild may hold the pipes open.
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
        // Node refuses some arguments (a NUL character) and some failures of spawn (no memory) by throwing.
        resolve({ kind: 'failed', message: String(error) });
      }
    });
}

/**
 * Runs the first of `commands` that exists: a service's PATH often lacks the folder that a login shell has.
 * A runner that rejects counts as a command that failed.
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

/** Why a command gave no output to read; undefined when it did, or when it is simply not installed. */
export function commandProblem(program: string, result: CommandResult): GpuProblem | undefined {
  switch (result.kind) {
    case 'timed_out':
      return {
        code: 'probe_timeout',
        message: `${program} did not answer within ${result.timeoutMs / 1000} s: the driver may hang. Run it by hand, look at dmesg, and reboot if it hangs there too.`,
      };
    case 'failed':
      return {
        code: 'probe_failed',
        message: `${program} could not be used: ${result.message.slice(0, 300)}. Run it by hand to see why.`,
      };
    case 'missing':
    case 'exited':
      return undefined;
  }
}
