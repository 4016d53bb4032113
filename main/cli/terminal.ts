import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { WriteStream } from 'node:tty';
import type { CliTerminal, Invocation, Screen } from './invocation.ts';

/** Maximum number of unread bytes of stderr to keep in memory when the reader stalls. */
const maxUnread = 1024 * 1024;

/**
 * Creates the parts of an invocation that come from this process. Call it only once, because it handles the errors of stdout and
 * stderr.
 */
export function processDeps(): Omit<Invocation, 'exit'> {
  const { env, stdout, stderr } = process;
  const closedPipeListeners = new Set<() => void>();
  onceClosed(stdout, () => {
    for (const act of closedPipeListeners) act();
  });
  onceClosed(stderr, () => undefined);
  return {
    env,
    terminal: processTerminal(env),
    ownCommand: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
    onSignal: (signal, act) => void process.on(signal, act),
    onClosedPipe: act => void closedPipeListeners.add(act),
  };
}

/** Creates the terminal from the standard streams of this process. */
function processTerminal(env: Readonly<Record<string, string | undefined>>): CliTerminal {
  const { stdin, stdout, stderr } = process;
  const isSimple = env['TERM'] === 'dumb';
  const screenOf = (stream: NodeJS.WriteStream) => (): Screen | null =>
    stream instanceof WriteStream && !isSimple
      ? { columns: stream.columns || 80, rows: stream.rows || 24 }
      : null;
  return {
    out: output => void stdout.write(output),
    err: output => void stderr.write(output),
    isErrBehind: () => stderr.writableLength > maxUnread,
    outScreen: screenOf(stdout),
    errScreen: screenOf(stderr),
    ask: stdin.isTTY && stderr.isTTY ? askPerson : null,
    stdin: stdin.isTTY ? null : () => text(stdin),
  };
}

async function askPerson(question: string): Promise<string | null> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<null>(resolve => {
    lines.once('close', () => resolve(null));
  });
  // The line reader intercepts Ctrl-C, so send the signal again. A shell stops its loop only if the process dies by the signal,
  // which the shell reports as exit code 130.
  lines.once('SIGINT', () => {
    lines.close();
    process.stderr.write('\n');
    process.kill(process.pid, 'SIGINT');
  });
  try {
    const answer = await Promise.race([lines.question(question), closed]);
    if (answer === null) process.stderr.write('\n');
    return answer;
  } finally {
    lines.close();
  }
}

/** Error codes of writes to a pipe whose reader has closed it, and to a closed terminal. */
const closedCodes: readonly (string | undefined)[] = ['EPIPE', 'EIO'];

/** Calls `act` when the reader of a stream has closed it. Any other stream error ends the program. */
function onceClosed(stream: NodeJS.WriteStream, act: () => void): void {
  stream.on('error', (cause: NodeJS.ErrnoException) => {
    if (!closedCodes.includes(cause.code)) throw cause;
    act();
  });
}
