import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { type RunProgram, describeFailure } from '../run-program.ts';
import { messageVersion } from './messages.ts';

type ProgramName = 'check' | 'launch' | 'list' | 'end';

const timeoutMs = 120_000;
/** Maximum size of the output of a program, in bytes. */
const maxOutput = 16 * 1024 * 1024;

/** A program failed. `answer` is its output if the output is JSON. */
export class ProgramError extends Error {
  readonly answer: unknown;
  /** True if the program was not started. */
  readonly isRefused: boolean;
  constructor(
    message: string,
    { answer, isRefused = false }: { answer?: unknown; isRefused?: boolean } = {},
  ) {
    super(message);
    this.answer = answer;
    this.isRefused = isRefused;
  }
}

/** Calls one of the user's programs with a message on stdin, and returns the JSON from its stdout. */
type CallProgram = (name: ProgramName, message: object) => Promise<unknown>;

export function createCallProgram(folder: string, run: RunProgram): CallProgram {
  return async (name, message) => {
    const file = join(folder, name);
    const refusal = await refusalOf(folder, file);
    if (refusal !== null) throw new ProgramError(refusal, { isRefused: true });
    const stdin = `${JSON.stringify({ version: messageVersion, ...message })}\n`;
    const result = await run([file], { stdin, timeoutMs, maxOutput });
    const answer = parseJson(result.stdout);
    // A program that fails may still print its error as JSON, so the output is part of the error.
    if (result.code !== 0) throw new ProgramError(describeFailure(`Program ${file}`, result), { answer });
    if (answer === undefined && name !== 'end') throw new ProgramError(`Program ${file} printed no JSON`);
    return answer;
  };
}

/**
 * Returns the reason why a program must not run; null for a safe program. Other users who can write to the program
 * could run commands as the orchestrator's user.
 */
async function refusalOf(folder: string, file: string): Promise<string | null> {
  for (const path of [folder, file]) {
    const stats = await stat(path).catch(() => null);
    if (stats === null) return `${path} does not exist`;
    const refusal = refusalOfOwner(path, stats);
    if (refusal !== null) return refusal;
    if (path === file && (!stats.isFile() || (stats.mode & 0o100) === 0))
      return `${path} is not an executable file: run chmod u+x ${path}`;
  }
  return null;
}

function refusalOfOwner(path: string, { uid, mode }: Stats): string | null {
  // Windows has neither user ids nor these permission bits.
  if (process.getuid === undefined) return null;
  const isTrustedOwner = uid === process.getuid() || uid === 0;
  if (!isTrustedOwner) return `${path} belongs to another user: run chown on it`;
  return (mode & 0o022) === 0 ? null : `${path} can be written to by other users: run chmod go-w ${path}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Validates the output of a program. The error names the first wrong field. */
export function readAnswer<T>(schema: z.ZodType<T>, name: ProgramName, answer: unknown): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') ?? '';
  throw new ProgramError(
    `Program ${name} printed an unexpected answer: ${field} ${issue?.message ?? ''}`.trim(),
  );
}
