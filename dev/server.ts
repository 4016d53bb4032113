import { existsSync, readdirSync, readFileSync, rmSync, watch } from 'node:fs';
import { join } from 'node:path';
import { type End, endText, type Program, type ProgramDeps, startProgram, type Print } from './program.ts';

/** Delay in ms from the first change to its report, because editors write files in several steps. */
const reportDelayMs = 150;
const isSource = (name: string): boolean =>
  /\.(?:ts|json|html|css|js)$/.test(name) && !/(?:^|\/)\./.test(name);

/** Watches the sources below these folders. Calls `onChange` with the first changed file. Returns a function that stops. */
export function watchSources(
  root: string,
  folders: readonly string[],
  onChange: (file: string) => void,
): () => void {
  let timer: NodeJS.Timeout | null = null;
  const watchers = folders.map(folder =>
    watch(join(root, folder), { recursive: true }, (_what, name) => {
      if (name === null || !isSource(name) || timer !== null) return;
      timer = setTimeout(() => {
        timer = null;
        onChange(`${folder}/${name}`);
      }, reportDelayMs);
    }),
  );
  return () => {
    for (const watcher of watchers) watcher.close();
    if (timer !== null) clearTimeout(timer);
  };
}

export interface DevServer {
  /** The server's URL, which stays the same after restarts. Rejects when the server ends before it listens. */
  readonly url: Promise<string>;
  /** Resolves when the running server ends by itself. Stays pending if the server fails to start after a change. */
  readonly ended: Promise<End>;
  /** Restarts the server with the current sources. If that fails, the next change restarts it again. */
  restart(why: string): void;
  stop(): Promise<void>;
}

export interface ServerDeps extends Pick<ProgramDeps, 'root' | 'env'> {
  readonly dataDir: string;
  readonly log: Print;
}

interface Run {
  readonly program: Program;
  /** Resolves with the server's URL; null when the server ended before it listened. */
  readonly url: Promise<string | null>;
}

/** Starts a server from the sources, on a free port that only this machine can reach. */
export function startServer(deps: ServerDeps): DevServer {
  const { log } = deps;
  const ended = Promise.withResolvers<End>();
  const first = run(deps, '0');
  let current = first;
  let isRestarting = false;
  let isRestartDue = false;
  let isOver = false;

  /** Handles the end of a run, unless it was stopped. */
  const watchEnd = async ({ program, url }: Run): Promise<void> => {
    const isReady = (await url) !== null;
    const end = await program.exited;
    if (program.isStopped()) return;
    if (isReady) ended.resolve(end);
    else log(`The server did not start (${endText(end)}). Waiting for the next change`);
  };
  /** Restarts the server, and again if sources change during the restart. */
  const restartWhileDue = async (port: string): Promise<void> => {
    isRestarting = true;
    while (isRestartDue && !isOver) {
      isRestartDue = false;
      await current.program.stop();
      if (isOver) break;
      current = run(deps, port);
      void watchEnd(current);
      if ((await current.url) !== null) log('The server is ready again');
    }
    isRestarting = false;
  };
  const url = first.url.then(firstUrl => {
    if (firstUrl === null) throw new Error('The server has not started');
    void watchEnd(first);
    return firstUrl;
  });
  return {
    url,
    ended: ended.promise,
    restart(why) {
      log(`${why} changed: the server restarts`);
      isRestartDue = true;
      if (!isRestarting)
        void url.then(
          firstUrl => restartWhileDue(new URL(firstUrl).port),
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
    // Omit the server's first lines, because they link to the built panel instead of the development panel.
    onOut: line => {
      const [, url] = /^Trainyard listens on (\S+)$/.exec(line) ?? [];
      if (url !== undefined) listens.resolve(url);
    },
    onErr: log,
  });
  void program.exited.then(() => listens.resolve(null));
  return { program, url: listens.promise };
}

/** Deletes a server's data folder. Rejects when a server still uses the folder, or when it is not a data folder. */
export async function clearFolder(dataDir: string): Promise<void> {
  if (!existsSync(dataDir) || readdirSync(dataDir).length === 0) return;
  if (!existsSync(join(dataDir, 'trainyard.db')))
    throw new Error(`${dataDir} contains no database of a server, so it was not deleted`);
  const urlFile = join(dataDir, 'url');
  if (existsSync(urlFile)) {
    // After a crash, the file still exists, but no server answers.
    const response = await fetch(`${readFileSync(urlFile, 'utf8').trim()}/health/live`).catch(() => null);
    if (response !== null) throw new Error(`A server uses ${dataDir}: stop it first`);
  }
  rmSync(dataDir, { recursive: true });
}
