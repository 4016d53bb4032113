import { type End, endText, type Program, type ProgramParts, startProgram } from './program.ts';
import type { Voice } from './voices.ts';

export interface DevServer {
  /** Where it listens: the same after each new start. Rejects when it ends before that. */
  readonly url: Promise<string>;
  /** It has ended though nobody told it to, and not because of a change that does not start. */
  readonly ended: Promise<End>;
  /** With the sources as they are now. A change that does not start is waited out: the next one may. */
  restart(why: string): void;
  stop(): Promise<void>;
}

export interface ServerParts extends Pick<ProgramParts, 'root' | 'env'> {
  readonly dataDir: string;
  readonly say: Voice;
}

interface Run {
  readonly program: Program;
  /** Null when it ended before it listened. */
  readonly url: Promise<string | null>;
}

export function startServer(parts: ServerParts): DevServer {
  const { say } = parts;
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
    else say(`It does not start (${endText(end)}): waiting for the next change`);
  };
  const change = async (port: string): Promise<void> => {
    isChanging = true;
    while (isDue && !isOver) {
      isDue = false;
      await current.program.stop();
      if (isOver) break;
      current = run(parts, port);
      void watch(current);
      if ((await current.url) !== null) say('It listens again');
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
      say(`${why} changed: it starts anew`);
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

function run({ say, dataDir, ...common }: ServerParts, port: string): Run {
  const listens = Promise.withResolvers<string | null>();
  const program = startProgram({
    ...common,
    args: ['server', '--host', '127.0.0.1', '--port', port, '--data-dir', dataDir],
    // What it greets people with names the panel that was built, which is not the one to look at.
    onOut: line => {
      const [, url] = /^Trainyard listens on (\S+)$/.exec(line) ?? [];
      if (url !== undefined) listens.resolve(url);
    },
    onErr: say,
  });
  void program.exited.then(() => listens.resolve(null));
  return { program, url: listens.promise };
}
