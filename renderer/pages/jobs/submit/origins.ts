import { useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import type { CallFailure, Client } from '../../../../protocol/client.ts';
import { configsApi } from '../../../../protocol/configs-api.ts';
import { JobId } from '../../../../protocol/ids.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import type { May } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { showFailure } from '../../../ui/toast.tsx';
import { readText } from './config-text.ts';
import { findTraining } from './configs.ts';
import { type Draft, emptyDraft, type FolderTraining, isNamed, type Origins, toDraft } from './draft.ts';
import { keptDraft } from './stored-draft.ts';

type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: CallFailure };

/** Reads a config in the folder with its text. The `value` is null if the text is not a valid config. */
export async function readFolderConfig(client: Client, name: string): Promise<Read<FolderTraining | null>> {
  const answer = await client.call(configsApi.text, { params: { name } });
  if (!answer.ok) return answer.failure.kind === 'problem' ? readParsed(client, name, answer) : answer;
  const { text, format, etag, dataloader, files } = answer.value;
  const read = readText(text, format);
  if (!read.ok) return { ok: true, value: null };
  return {
    ok: true,
    value: { text, format, etag, config: read.config, dataloader: dataloader ?? null, files },
  };
}

/** Reads only the parsed config, for servers of earlier versions that cannot return its text. */
async function readParsed(
  client: Client,
  name: string,
  failed: { readonly ok: false; readonly failure: CallFailure },
): Promise<Read<FolderTraining | null>> {
  const training = await findTraining(client, name);
  if (training === null) return failed;
  const text = JSON.stringify(training.config, null, 2);
  return { ok: true, value: { ...training, text, format: 'json', files: {} } };
}

/** The initial state of the form. */
export interface Model {
  /** The id, from the URL, of the job whose settings the form copies; null for an empty form. */
  readonly from: string | null;
  readonly like: JobDetail | null;
  readonly draft: Draft;
  /** True if the config of the copied job cannot be read, so that the user must enter a config. */
  readonly isConfigLost: boolean;
}

/** Prepares the form: restores the draft from before a reload, or else copies the settings of the job in the URL. */
export function useModel(): Model | 'loading' {
  const t = useT();
  const [params] = useSearchParams();
  const from = params.get('from');
  const { client, may } = usePanel();
  const [read, setRead] = useState<Model | null>(null);
  const jobId = may(queueApi.get) ? JobId.safeParse(from).data : undefined;
  useEffect(() => {
    if (jobId === undefined) return undefined;
    const controller = new AbortController();
    const show = async (): Promise<void> => {
      const answer = await client.call(queueApi.get, { params: { id: jobId }, signal: controller.signal });
      if (controller.signal.aborted) return;
      if (!answer.ok) {
        showFailure(t, answer.failure);
        return setRead(blank(from));
      }
      const like = answer.value;
      const origins = await readOrigins(client, may, like);
      if (controller.signal.aborted) return;
      const draft = keptDraft(sessionStorage, from) ?? toDraft(like, origins);
      setRead({ from, like, draft, isConfigLost: origins.own === null });
    };
    void show();
    return () => controller.abort();
  }, [client, may, jobId, from, t]);
  const [empty] = useState(() => blank(from));
  if (jobId === undefined) return empty;
  return read ?? 'loading';
}

const blank = (from: string | null): Model => ({
  from,
  like: null,
  draft: keptDraft(sessionStorage, from) ?? emptyDraft,
  isConfigLost: false,
});

/** Reads the config of the job, if the user may see it, and the folder's current config of the same name. */
async function readOrigins(client: Client, may: May, job: JobDetail): Promise<Origins> {
  const { id, config_name: name } = job;
  const submitted = may(queueApi.config, job) ? await client.call(queueApi.config, { params: { id } }) : null;
  const inFolder = isNamed(job) ? await readFolderConfig(client, name) : null;
  return {
    own:
      submitted?.ok === true ? { ...submitted.value, dataloader: submitted.value.dataloader ?? null } : null,
    inFolder: inFolder?.ok === true ? inFolder.value : null,
  };
}
