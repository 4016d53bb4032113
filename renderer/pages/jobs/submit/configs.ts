import { useEffect, useState } from 'react';
import type { CallFailure, Client } from '../../../../protocol/client.ts';
import { type ConfigView, configsApi } from '../../../../protocol/configs-api.ts';
import { usePanel } from '../../../app/context.ts';
import type { Training } from './draft.ts';

export interface FoundConfigs {
  /** Path of the configs folder on the server. */
  readonly folder: string;
  readonly entries: readonly ConfigView[];
  readonly hasMore: boolean;
  readonly text: string;
}

/** Maximum number of configs to list. A longer search text finds further configs. */
const maxShown = 20;
const typingDelayMs = 150;

/** Returns the configs whose names contain the text. Sends the request after a pause in typing. */
export function useConfigs(
  text: string,
  /** Change this number to read the list again. */
  reloadCount: number,
): { readonly found: FoundConfigs | null; readonly failure: CallFailure | null } {
  const { client } = usePanel();
  const [found, setFound] = useState<FoundConfigs | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      const query = { q: text.slice(0, 200), limit: maxShown };
      const answer = await client.call(configsApi.list, { query, signal: controller.signal });
      if (controller.signal.aborted) return;
      setFailure(answer.ok ? null : answer.failure);
      if (!answer.ok) return;
      const { folder, entries, next_cursor: next } = answer.value;
      setFound({ folder, entries, hasMore: next !== null, text });
    };
    const timer = setTimeout(() => void read(), text === '' ? 0 : typingDelayMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [client, text, reloadCount]);
  return { found, failure };
}

/** Reads a config and its dataloader. `dataloader` is null when there is none or it cannot be read. */
async function readTraining(
  client: Client,
  { name, dataloader: dataloaderName }: Pick<ConfigView, 'name' | 'dataloader'>,
): Promise<
  { readonly ok: true; readonly value: Training } | { readonly ok: false; readonly failure: CallFailure }
> {
  const params = { name };
  const [config, beside] = await Promise.all([
    client.call(configsApi.get, { params }),
    dataloaderName === null ? null : client.call(configsApi.dataloader, { params }),
  ]);
  if (!config.ok) return config;
  const dataloader = beside?.ok === true ? (beside.value.dataloader ?? null) : null;
  return { ok: true, value: { config: config.value, dataloader } };
}

/** Reads the folder's current config with this name, and its ETag; null when the config is missing or unreadable. */
export async function findTraining(
  client: Client,
  name: string,
): Promise<(Training & { readonly etag: string | null }) | null> {
  // Read the ETag before the content. If the file changes in between, the server rejects a later save with the old ETag.
  const entry = await findEntry(client, name);
  const training = entry && (await readTraining(client, entry));
  return entry !== null && training?.ok === true ? { ...training.value, etag: entry.etag } : null;
}

/** Returns the list entry with exactly this name; null when there is none. */
export async function findEntry(client: Client, name: string): Promise<ConfigView | null> {
  const answer = await client.call(configsApi.list, { query: { q: name, limit: 500 } });
  return answer.ok ? (answer.value.entries.find(entry => entry.name === name) ?? null) : null;
}
