import { createContext, useContext, useEffect, useState } from 'react';
import { systemApi } from '../../../protocol/admin-api.ts';
import { type AgentManifest, agentApi } from '../../../protocol/agent-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { usePanel } from '../../app/context.ts';
import { compareVersions } from '../../../protocol/version.ts';

/** Provides the orchestrator's version to the rows of a table; null while unknown. */
const ServerVersion = createContext<string | null>(null);
export const ServerVersionProvider = ServerVersion.Provider;
export const useProvidedServerVersion = (): string | null => useContext(ServerVersion);

/**
 * Returns the version of the orchestrator whose data is displayed; null until loaded. It can differ from the version of
 * this page, because in the desktop app another program may have served the page.
 */
export function useServerVersion(): string | null {
  const { client } = usePanel();
  const [version, setVersion] = useState<string | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    void client.call(systemApi.version, { signal: controller.signal }).then(answer => {
      if (answer.ok && !controller.signal.aborted) setVersion(answer.value.version);
    });
    return () => controller.abort();
  }, [client]);
  return version;
}

/** Compares an agent's version with the server's; null if equal or unknown, and for v1 workers and the local worker. */
export function compareAgentVersion(
  { protocol, agent_version: agent, local }: Pick<WorkerView, 'protocol' | 'agent_version' | 'local'>,
  server: string | null,
): 'older' | 'newer' | null {
  // SimpleTuner's worker has different version numbers. The local worker always has the server's version.
  if (protocol === 1 || agent === null || server === null || local) return null;
  const order = compareVersions(agent, server);
  return order === 'same' ? null : order;
}

/** Returns the worker programs that rigs can download; null until loaded, and if the server has none. */
export function usePrograms(): AgentManifest | null {
  const { client } = usePanel();
  const [programs, setPrograms] = useState<AgentManifest | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    void client.call(agentApi.manifest, { signal: controller.signal }).then(answer => {
      if (answer.ok && !controller.signal.aborted) setPrograms(answer.value);
    });
    return () => controller.abort();
  }, [client]);
  return programs;
}
