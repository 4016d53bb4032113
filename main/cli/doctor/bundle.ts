import { writeFileSync } from 'node:fs';
import { createClient } from '../../../protocol/client.ts';
import { settingsApi } from '../../../protocol/settings-api.ts';
import type { Env, Flags } from '../../config.ts';
import { findConnection, findLocalFolder, findNetwork, tokenFetch } from '../connection.ts';
import { failureOf, reasonOf } from '../failure.ts';
import type { Check } from './folder.ts';
import { createReport, sectionOf } from './report.ts';

interface BundleSources {
  readonly flags: Flags;
  readonly env: Env;
  readonly checks: readonly Check[];
  readonly timeoutMs: number;
}

/** Writes a report with the checks to a new file. Resolves with null, or with the reason why the file could not be written. */
export async function writeBundle(file: string, sources: BundleSources): Promise<string | null> {
  const { flags, env, checks } = sources;
  const folder = findLocalFolder(flags, env);
  if (!folder.ok) return folder.failure.message;
  const report = createReport({
    dataDir: folder.value.dataDir,
    sections: [
      {
        title: 'Checks',
        lines: checks.map(({ what, result, detail }) => `${what}: ${result}. ${detail}`),
      },
      sectionOf('Settings of the orchestrator', await orchestratorSettings(sources)),
    ],
  });
  try {
    writeFileSync(file, report, { flag: 'wx', mode: 0o600 });
    return null;
  } catch (cause) {
    return reasonOf(cause);
  }
}

/** Returns the settings, or the reason why they are unknown. */
async function orchestratorSettings({ flags, env, timeoutMs }: BundleSources): Promise<object> {
  const connection = findConnection(flags, env);
  if (!connection.ok) return { unknown: connection.failure.message };
  const network = findNetwork(flags, env);
  if (!network.ok) return { unknown: network.failure.message };
  const { url, token } = connection.value;
  const client = createClient({
    baseUrl: url,
    headers: () => ({ authorization: `Bearer ${token}` }),
    timeoutMs,
    fetch: tokenFetch(connection.value, network.value),
  });
  const answer = await client.call(settingsApi.get);
  return answer.ok ? answer.value : { unknown: failureOf(answer.failure, url).message };
}
