import { createContext, useContext, useEffect, useState } from 'react';
import { systemApi } from '../../../protocol/admin-api.ts';
import { compareVersions } from '../../../protocol/version-order.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { usePanel } from '../../app/context.ts';

/** Of the orchestrator, for the rows of a table; null as long as it is not known. */
const ServerVersion = createContext<string | null>(null);
export const ServerVersionProvider = ServerVersion.Provider;
export const useVersionAround = (): string | null => useContext(ServerVersion);

/** Of the orchestrator that is shown, which need not be that of this page; null before it has said so. */
export function useServerVersion(): string | null {
  const { client } = usePanel();
  const [version, setVersion] = useState<string | null>(null);
  useEffect(() => {
    const over = new AbortController();
    void client.call(systemApi.version, { signal: over.signal }).then(answer => {
      if (answer.ok && !over.signal.aborted) setVersion(answer.value.version);
    });
    return () => over.abort();
  }, [client]);
  return version;
}

/** How an agent of ours stands to the server; null when it is the same, or one of the two is not known. */
export function agentStanding(
  { protocol, agent_version: agent, local }: Pick<WorkerView, 'protocol' | 'agent_version' | 'local'>,
  server: string | null,
): 'older' | 'newer' | null {
  // SimpleTuner's own has versions of its own; what the server starts itself is the server's.
  if (protocol === 1 || agent === null || server === null || local) return null;
  const order = compareVersions(agent, server);
  return order === 'same' ? null : order;
}
