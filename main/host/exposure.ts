import type { Orchestrator } from '../orchestrator/index.ts';
import type { Log } from '../orchestrator/ports.ts';

/** Other machines reach it, and what they send can be read on the way: said in the log, and in the audit trail. */
export const tellExposed =
  (orchestrator: Pick<Orchestrator, 'noteSettings'>, log: Log) =>
  (host: string): void => {
    log.warn('server.exposed', {
      host,
      note: 'tokens travel unencrypted: turn on TLS (--ssl), or put a proxy with TLS in front',
    });
    orchestrator
      .noteSettings([{ type: 'settings.exposed', details: { host } }], { type: 'system' })
      .catch((cause: unknown) => log.error('server.exposed_not_noted', { host, cause }));
  };
