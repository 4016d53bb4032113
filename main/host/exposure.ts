import type { Orchestrator } from '../orchestrator/index.ts';
import type { Log } from '../orchestrator/ports/index.ts';

/** Warns in the log and in the audit trail that other machines connect without encryption. */
export const warnExposed =
  (orchestrator: { readonly access: Pick<Orchestrator['access'], 'noteSettings'> }, log: Log) =>
  (host: string): void => {
    log.warn('server.exposed', {
      host,
      note: 'tokens travel unencrypted: turn on TLS (--ssl), or put a proxy with TLS in front',
    });
    orchestrator.access
      .noteSettings([{ type: 'settings.exposed', details: { host } }], { type: 'system' })
      .catch((cause: unknown) => log.error('server.exposed_not_noted', { host, cause }));
  };
