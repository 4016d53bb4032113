import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../protocol/client.ts';
import { sessionApi } from '../protocol/session-api.ts';
import type { DevOptions } from './options.ts';
import { startPanel } from './panel.ts';
import { type createPrefixedOutputs, endText, type Program, startProgram } from './program.ts';
import { clearFolder, startServer, watchSources } from './server.ts';

export interface StartContext {
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly outputOf: ReturnType<typeof createPrefixedOutputs>;
  /** Fires when the user stops the program. */
  readonly stopSignal: AbortSignal;
}

/** The reason why the program ends, and its exit code. */
interface Reason {
  readonly text: string;
  readonly code: number;
}

/**
 * Runs a server, the panel with hot reload and a demo fleet until the signal fires or a program ends. Then stops the programs in
 * reverse order, so that the demo's workers can still sign off from the server. Resolves with the exit code.
 */
export async function develop(options: DevOptions, context: StartContext): Promise<number> {
  const { outputOf, stopSignal } = context;
  const log = outputOf('dev');
  const stops: (() => Promise<void> | void)[] = [];
  const reason = Promise.withResolvers<Reason>();
  stopSignal.addEventListener('abort', () => reason.resolve({ text: 'Stopping all programs', code: 0 }), {
    once: true,
  });
  const starting = startAll(options, context, stops, text => reason.resolve({ text, code: 1 })).catch(
    (cause: unknown) =>
      reason.resolve({ text: cause instanceof Error ? cause.message : String(cause), code: 1 }),
  );
  const { text, code } = await reason.promise;
  log(text);
  await stopAll(stops);
  // Stop again, because a program may have started after the first stop.
  await starting;
  await stopAll(stops);
  return code;
}

async function stopAll(stops: (() => Promise<void> | void)[]): Promise<void> {
  for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop();
}

async function startAll(
  { dataDir, port, isFresh, fleet: fleetArgs }: DevOptions,
  { root, env: parentEnv, outputOf, stopSignal }: StartContext,
  stops: (() => Promise<void> | void)[],
  end: (reason: string) => void,
): Promise<void> {
  if (isFresh) await clearFolder(dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  // The developer's own orchestrator settings must not apply to this server.
  const env = { ...parentEnv, XDG_CONFIG_HOME: dataDir };
  const server = startServer({ root, env, dataDir, log: outputOf('server') });
  stops.push(server.stop);
  void server.ended.then(how => end(`The server ended (${endText(how)}), so all other programs stop`));
  const url = await server.url;
  if (stopSignal.aborted) return;
  const panel = await startPanel({ root, port, server: new URL(url), log: outputOf('panel') });
  stops.push(panel.stop, watchSources(root, ['main', 'protocol'], server.restart));
  const tokenFile = join(dataDir, 'admin-token');
  const { program, ready } = startFleet({ root, env, log: outputOf('fleet') }, [
    '--url',
    url,
    '--token-file',
    tokenFile,
    ...fleetArgs,
  ]);
  stops.push(program.stop);
  void program.exited.then(how => {
    if (!program.isStopped()) end(`The demo fleet ended (${endText(how)}), so all other programs stop`);
  });
  if (!(await ready) || stopSignal.aborted) return;
  const log = outputOf('dev');
  log(`The server listens on ${url} and stores its data in ${dataDir}`);
  log(`Open ${panel.url}${await signInPath(url, tokenFile)} (works once, within 10 minutes)`);
}

/** Matches status lines of the fleet, which are not printed because the panel shows the same numbers. */
const statusLine = /^\d+ of \d+ connected\b/;

function startFleet(
  {
    log,
    ...common
  }: Pick<Parameters<typeof startProgram>[0], 'root' | 'env'> & {
    readonly log: (line: string) => void;
  },
  args: readonly string[],
): { readonly program: Program; readonly ready: Promise<boolean> } {
  const ready = Promise.withResolvers<boolean>();
  const program = startProgram({
    ...common,
    entry: 'dev/demo-fleet/run.ts',
    args,
    onOut: line => {
      if (/^\d+ workers are ready/.test(line)) ready.resolve(true);
      if (!statusLine.test(line)) log(line);
    },
    onErr: log,
  });
  void program.exited.then(() => ready.resolve(false));
  return { program, ready: ready.promise };
}

async function signInPath(baseUrl: string, tokenFile: string): Promise<string> {
  const token = readFileSync(tokenFile, 'utf8').trim();
  const headers = () => ({ authorization: `Bearer ${token}` });
  const reply = await createClient({ baseUrl, headers, timeoutMs: 10_000 }).call(sessionApi.link);
  if (!reply.ok) throw new Error('The server created no sign-in link', { cause: reply.failure });
  return reply.value.path;
}
