import { networkInterfaces } from 'node:os';
import { type Composed, compose } from './compose.ts';
import type { ServerConfig } from './config.ts';
import { createLog } from './host/log.ts';
import { systemClock, systemIds } from './host/system.ts';

export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** What is not answered within this long of a signal is cut off. */
const stopWithinMs = 1_800;

/**
 * Runs the orchestrator without a display until SIGTERM or SIGINT; answers with the exit code. With `json`, stdout
 * carries one line when the server is ready, and stderr logs as JSON.
 */
export async function runServer(config: ServerConfig, json: boolean, terminal: Terminal): Promise<number> {
  const log = createLog(terminal.err, json);
  try {
    const composed = await compose(config, { clock: systemClock, ids: systemIds, log });
    const stopped = untilSignal();
    terminal.out(json ? readyLine(composed.url, config) : greeting(composed, config));
    if (!isLoopback(config.host)) {
      log.warn('server.exposed', {
        host: config.host,
        note: 'tokens travel unencrypted: put TLS in front of it',
      });
    }
    const signal = await stopped;
    log.info('server.stopping', { signal });
    const cut = setTimeout(() => process.exit(1), stopWithinMs);
    await composed.close();
    clearTimeout(cut);
    return 0;
  } catch (cause) {
    terminal.err(`${startFailure(cause, config)}\n`);
    return 1;
  }
}

const readyLine = (url: string, config: ServerConfig): string =>
  `${JSON.stringify({ ready: true, url, pid: process.pid, data_dir: config.dataDir })}\n`;

function greeting({ url, adminTokenFile }: Composed, config: ServerConfig): string {
  const { port } = new URL(url);
  const elsewhere = isWildcard(config.host) ? addresses().map(address => `http://${address}:${port}`) : [];
  const workers = elsewhere.length > 0 ? `Other machines reach it at ${elsewhere.join(', ')}\n` : '';
  return `Trainyard listens on ${url}\n${workers}Admin token: ${adminTokenFile}\nConfigs: ${config.configsDir}\n`;
}

const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** This machine's own on its networks. */
const addresses = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap(list => list ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);

/** The first signal stops in order; a second one, at once. */
function untilSignal(): Promise<string> {
  return new Promise(resolve => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (asked) process.exit(1);
      asked = true;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.');

function startFailure(cause: unknown, config: ServerConfig): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  if (code === 'EADDRINUSE') {
    return `Port ${config.port} on ${config.host} is in use: stop what listens there, or choose another one with --port`;
  }
  if (code === 'EADDRNOTAVAIL')
    return `${config.host} is no address of this machine: choose another one with --host`;
  return `The orchestrator can not start: ${cause instanceof Error ? cause.message : String(cause)}`;
}
