import { Command } from 'commander';
import { systemApi } from '../../protocol/admin-api.ts';
import { createClient } from '../../protocol/client.ts';
import { version } from '../../protocol/version.ts';
import { findNetwork, findUrl } from './connection.ts';
import { failureOf } from './failure.ts';
import { flagsOf } from './flags.ts';
import type { Invocation } from './invocation.ts';
import { printOne } from './output.ts';
import { withConnection, withOutput } from './remote-command.ts';

const timeoutMs = 2_000;

/** Prints the version of this program, and of the orchestrator if it is reachable. Needs no token. */
export function versionCommand({ env, terminal }: Invocation): Command {
  const command = new Command('version').description(
    'Print the version of this program and of the orchestrator',
  );
  return withConnection(withOutput(command)).action(async () => {
    const flags = flagsOf(command);
    const url = findUrl(flags, env);
    const fetched = url.ok
      ? await fetchVersion(url.value, findNetwork(flags, env))
      : { version: null, reason: 'none was found' };
    const server = url.ok ? url.value : null;
    printOne(
      { terminal, flags },
      {
        answer: { version, node: process.version, server_url: server, server_version: fetched.version },
        facts: [
          ['Trainyard', `${version} on Node ${process.version}`],
          ['Orchestrator', fetched.version === null ? fetched.reason : `${fetched.version} at ${server}`],
        ],
      },
    );
  });
}

async function fetchVersion(
  baseUrl: string,
  network: ReturnType<typeof findNetwork>,
): Promise<{ readonly version: string | null; readonly reason: string }> {
  if (!network.ok) return { version: null, reason: network.failure.message };
  const client = createClient({
    baseUrl,
    headers: () => ({}),
    timeoutMs,
    fetch: network.value,
  });
  const result = await client.call(systemApi.version);
  return result.ok
    ? { version: result.value.version, reason: '' }
    : { version: null, reason: failureOf(result.failure, baseUrl).message };
}
