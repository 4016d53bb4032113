import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { type RunProgram, describeFailure } from '../run-program.ts';
import { messageVersion } from './messages.ts';

type ProgramName = 'check' | 'launch' | 'list' | 'end';

const timeoutMs = 120_000;
const maxOutput = 16 * 1024 * 1024;

/** The program did not do its work. `answer` is what it printed all the same, when that was JSON. */
export class ProgramError extends Error {
  readonly answer: unknown;
  /** Whether it did not even start. */
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

/** Calls one of the programs with a message on stdin, and returns the JSON that it printed. */
type CallProgram = (name: ProgramName, message: object) => Promise<unknown>;

export function createCallProgram(folder: string, run: RunProgram): CallProgram {
  return async (name, message) => {
    const file = join(folder, name);
    const refusal = await refusalOf(folder, file);
    if (refusal !== null) throw new ProgramError(refusal, { isRefused: true });
    const stdin = `${JSON.stringify({ version: messageVersion, ...message })}\n`;
    const result = await run([file], { stdin, timeoutMs, maxOutput });
    const answer = parseJson(result.stdout);
    // A program that fails prints its error there.
    if (result.code !== 0) throw new ProgramError(describeFailure(`Program ${file}`, result), { answer });
    if (answer === undefined && name !== 'end') throw new ProgramError(`Program ${file} printed no JSON`);
    return answer;
  };
}

/** Other users who can write to these files could run commands as the user of the orchestrator. */
async function refusalOf(folder: string, file: string): Promise<string | null> {
  for (const path of [folder, file]) {
    const found = await stat(path).catch(() => null);
    if (found === null) return `${path} does not exist`;
    const refusal = refusalOfOwner(path, found);
    if (refusal !== null) return refusal;
    if (path === file && (!found.isFile() || (found.mode & 0o100) === 0))
      return `${path} is not an executable file: run chmod u+x ${path}`;
  }
  return null;
}

function refusalOfOwner(path: string, { uid, mode }: Stats): string | null {
  // Windows has neither.
  if (process.getuid === undefined) return null;
  const isOurs = uid === process.getuid() || uid === 0;
  if (!isOurs) return `${path} belongs to another user: run chown on it`;
  return (mode & 0o022) === 0 ? null : `${path} can be written to by other users: run chmod go-w ${path}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads an answer by its schema. The error names the field that is wrong. */
export function readAnswer<T>(schema: z.ZodType<T>, name: ProgramName, answer: unknown): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') ?? '';
  throw new ProgramError(
    `Program ${name} printed an unexpected answer: ${field} ${issue?.message ?? ''}`.trim(),
  );
}
