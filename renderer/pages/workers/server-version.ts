import { createContext, useContext, useEffect, useState } from 'react';
import { systemApi } from '../../../protocol/admin-api.ts';
import { type AgentManifest, agentApi } from '../../../protocol/agent-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { usePanel } from '../../app/context.ts';
import { compareVersions } from '../../../protocol/version.ts';

/** The orchestrator's version, for table rows; null while unknown. */
const ServerVersion = createContext<string | null>(null);
export const ServerVersionProvider = ServerVersion.Provider;
export const useProvidedServerVersion = (): string | null => useContext(ServerVersion);

/** The version of the displayed orchestrator, which may differ from the one that served this page; null until loaded. */
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

/** Compares a Trainyard agent's version with the server's; null when they are equal or one is unknown. */
export function compareAgentVersion(
  { protocol, agent_version: agent, local }: Pick<WorkerView, 'protocol' | 'agent_version' | 'local'>,
  server: string | null,
): 'older' | 'newer' | null {
  // SimpleTuner's worker has its own version numbers; the server starts the local worker with its own program.
  if (protocol === 1 || agent === null || server === null || local) return null;
  const order = compareVersions(agent, server);
  return order === 'same' ? null : order;
}

/** The worker programs that rigs can download; null until loaded, or when none were built. */
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
