import { useEffect, useState } from 'react';
import { type AgentManifest, agentApi } from '../../../protocol/agent-api.ts';
import { usePanel } from '../../app/context.ts';

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
