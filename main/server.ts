import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Composed, compose, FolderInUse } from './compose.ts';
import type { ComposeDeps } from './compose/deps.ts';
import type { ServerConfig } from './config.ts';
import { createLog, batchLines } from './host/log.ts';
import { systemClock, systemIds } from './host/system.ts';

/** Time that clients need to reconnect after a restart of the server. */
const settleAfterMs = 2_000;

/**
 * Keeps the heap small after startup (docs/adr/0023). V8 lets the young generation grow from 2 to 64 MB at the first burst.
 * Almost everything that a request allocates is garbage after the response, so a small young generation is no slower. Returns a
 * function that cancels the pending collection.
 */
function keepHeapSmall(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1');
  const timer = setTimeout(freeStartMemory, settleAfterMs);
  return () => clearTimeout(timer);
}

/**
 * Frees the memory of startup in about 20 ms. V8 shrinks an idle heap on its own, but only after a first full collection, which
 * an idle server never reaches.
 */
function freeStartMemory(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
  setFlagsFromString('--no-expose-gc');
}

export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /**
   * Returns true if the reader of stderr lags so far behind that more output would only fill memory. Absent if output is never
   * buffered.
   */
  readonly isErrBehind?: () => boolean;
}

/** Maximum duration of a clean stop after a signal. Then the process exits, even if connections are still open. */
const stopWithinMs = 1_800;

/** From sysexits.h: 73 means that a file could not be created, 75 that a retry may succeed. */
const exitCodes = { failed: 1, folderInUse: 73, diskFailed: 75 } as const;

export interface Logging {
  /** Prints one JSON line to stdout when the server is ready, and logs JSON to stderr. */
  readonly json: boolean;
  /** Logs one line per request. */
  readonly requests: boolean;
}

/** Runs the orchestrator without a display until SIGTERM or SIGINT. Resolves with the exit code. */
export async function runServer(
  config: ServerConfig,
  { json, requests }: Logging,
  terminal: Terminal,
  agent: ComposeDeps['agent'],
): Promise<number> {
  const log = createLog(batchLines(terminal.err), json, terminal.isErrBehind);
  try {
    const composed = await compose(config, {
      clock: systemClock,
      ids: systemIds,
      log,
      logRequests: requests,
      agent,
      onFatal: () => process.exit(exitCodes.diskFailed),
    });
    const stopped = untilSignal();
    terminal.out(json ? readyLine(composed, config) : greeting(composed, config));
    if (!json && composed.restored !== null) terminal.err(restoredNotice(composed.restored));
    const cancelCollection = keepHeapSmall();
    const signal = await stopped;
    cancelCollection();
    log.info('server.stopping', { signal });
    let code: number = exitCodes.failed;
    const cut = setTimeout(() => process.exit(code), stopWithinMs);
    await composed.close();
    code = 0;
    // Only unread log output can keep the process alive now. Let it exit earlier if there is none.
    cut.unref();
    return code;
  } catch (cause) {
    const reason = startFailure(cause, config);
    if (json) log.error('server.not_started', { reason });
    else terminal.err(`${reason}\n`);
    return cause instanceof FolderInUse ? exitCodes.folderInUse : exitCodes.failed;
  }
}

function readyLine({ url, restored }: Composed, config: ServerConfig): string {
  const ready = { ready: true, url, pid: process.pid, data_dir: config.dataDir };
  return `${JSON.stringify(restored === null ? ready : { ...ready, restored: fieldsOf(restored) })}\n`;
}

type Restored = NonNullable<Composed['restored']>;

const fieldsOf = ({ damage, setAside, backup, backupAt, salvagedRows, lostRows }: Restored) => ({
  damage,
  set_aside: setAside,
  backup,
  backup_at: systemClock.iso(backupAt),
  audit_rows_salvaged: salvagedRows,
  audit_rows_lost: lostRows,
});

function restoredNotice({ damage, setAside, backup, backupAt, salvagedRows, lostRows }: Restored): string {
  const minutes = Math.max(0, Math.round((systemClock.wall() - backupAt) / 60_000));
  const setAsideLine = setAside === null ? '' : `The damaged database is kept in ${setAside}\n`;
  const salvaged =
    salvagedRows === 0 ? '' : `${salvagedRows} newer rows of the audit trail could be read, and were kept\n`;
  const missing =
    lostRows === null
      ? ''
      : `ROWS OF THE AUDIT TRAIL ARE LOST: ${lostRows.from} to ${lostRows.through}, at least\n`;
  return (
    `\nATTENTION: the database ${damage}\n${setAsideLine}The backup ${backup} has replaced it\n` +
    `It was made at ${systemClock.iso(backupAt)}, ${minutes} minutes ago. Later changes are lost\n${salvaged}${missing}\n`
  );
}

function greeting(composed: Composed, config: ServerConfig): string {
  const { url, adminTokenFile, signInPath, reachableAt, pin } = composed;
  const byPin = pin === null ? '' : `, workers with --pin ${pin}`;
  const workers =
    reachableAt.length > 0 ? `Other machines reach it at ${reachableAt.join(', ')}${byPin}\n` : '';
  const panel =
    signInPath === null
      ? 'The panel is not built: npm run build\n'
      : `Open the panel, once and within 10 minutes: ${url}${signInPath()}\n`;
  return `Trainyard listens on ${url}\n${panel}${workers}Admin token: ${adminTokenFile}\nConfigs: ${config.configsDir}\n`;
}

/** Resolves with the first stop signal. A second signal exits the process immediately. */
function untilSignal(): Promise<string> {
  return new Promise(resolve => {
    let hasSignal = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (hasSignal) process.exit(exitCodes.failed);
      hasSignal = true;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

function startFailure(cause: unknown, config: ServerConfig): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  if (code === 'EADDRINUSE') {
    return `Port ${config.port} on ${config.host} is in use: stop the program that listens there, or choose another one with --port`;
  }
  if (code === 'EADDRNOTAVAIL')
    return `${config.host} is not an address of this machine: choose another one with --host`;
  if (cause instanceof FolderInUse) return cause.message;
  return `The orchestrator cannot start: ${cause instanceof Error ? cause.message : String(cause)}`;
}
