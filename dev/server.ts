import { type End, endText, type Program, type ProgramDeps, startProgram } from './program.ts';
import type { Voice } from './voices.ts';

export interface DevServer {
  /** The server's URL, the same after each restart. Rejects when the server ends before it listens. */
  readonly url: Promise<string>;
  /** Resolves when the server ends on its own, but not when a change keeps it from starting. */
  readonly ended: Promise<End>;
  /** Restarts the server with the current sources. If it does not start, the next change may fix that. */
  restart(why: string): void;
  stop(): Promise<void>;
}

export interface ServerDeps extends Pick<ProgramDeps, 'root' | 'env'> {
  readonly dataDir: string;
  readonly log: Voice;
}

interface Run {
  readonly program: Program;
  /** Null when the server ended before it listened. */
  readonly url: Promise<string | null>;
}

export function startServer(parts: ServerDeps): DevServer {
  const { log } = parts;
  const ended = Promise.withResolvers<End>();
  const first = run(parts, '0');
  let current = first;
  let isChanging = false;
  let isDue = false;
  let isOver = false;

  const watch = async ({ program, url }: Run): Promise<void> => {
    const isReady = (await url) !== null;
    const end = await program.exited;
    if (program.isStopped()) return;
    if (isReady) ended.resolve(end);
    else log(`The server did not start (${endText(end)}). Waiting for the next change`);
  };
  const change = async (port: string): Promise<void> => {
    isChanging = true;
    while (isDue && !isOver) {
      isDue = false;
      await current.program.stop();
      if (isOver) break;
      current = run(parts, port);
      void watch(current);
      if ((await current.url) !== null) log('The server is ready again');
    }
    isChanging = false;
  };
  const url = first.url.then(found => {
    if (found === null) throw new Error('The server has not started');
    void watch(first);
    return found;
  });
  return {
    url,
    ended: ended.promise,
    restart(why) {
      log(`${why} changed: the server restarts`);
      isDue = true;
      if (!isChanging)
        void url.then(
          found => change(new URL(found).port),
          () => undefined,
        );
    },
    async stop() {
      isOver = true;
      await current.program.stop();
    },
  };
}

function run({ log, dataDir, ...common }: ServerDeps, port: string): Run {
  const listens = Promise.withResolvers<string | null>();
  const program = startProgram({
    ...common,
    entry: 'main/cli.ts',
    args: ['server', '--host', '127.0.0.1', '--port', port, '--data-dir', dataDir],
    // Drop the server's greeting: it links to the built panel instead of the development panel.
    onOut: line => {
      const [, url] = /^Trainyard listens on (\S+)$/.exec(line) ?? [];
      if (url !== undefined) listens.resolve(url);
    },
    onErr: log,
  });
  void program.exited.then(() => listens.resolve(null));
  return { program, url: listens.promise };
}
