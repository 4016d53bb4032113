import { useEffect, useState } from 'react';
import type { Client } from '../../../protocol/client.ts';
import { JobId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { May } from '../../api/person.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { showFailure } from '../../ui/toast.tsx';
import { type Draft, draftOf, emptyDraft, isNamed, type Origins } from './draft.ts';
import { findTraining } from './use-configs.ts';

/** The initial state of the form. */
export interface Model {
  /** The job to copy; null for none. */
  readonly like: JobView | null;
  readonly draft: Draft;
  /** The job's config cannot be read, so the user must enter one. */
  readonly isConfigLost: boolean;
}

const blank: Model = { like: null, draft: emptyDraft, isConfigLost: false };

/** Builds the model from the job with this id, if there is one. */
export function useModel(id: string | null): Model | 'loading' {
  const t = useT();
  const { client, may } = usePanel();
  const jobId = may(queueApi.get) ? JobId.safeParse(id).data : undefined;
  const [model, setModel] = useState<Model | 'loading'>(jobId === undefined ? blank : 'loading');
  useEffect(() => {
    if (jobId === undefined) return undefined;
    const controller = new AbortController();
    void client
      .call(queueApi.get, { params: { id: jobId }, signal: controller.signal })
      .then(async answer => {
        if (!answer.ok) {
          if (controller.signal.aborted) return;
          showFailure(t, answer.failure);
          return setModel(blank);
        }
        const like = answer.value;
        const origins = await originsOf(client, may, like);
        if (controller.signal.aborted) return;
        setModel({ like, draft: draftOf(like, origins), isConfigLost: origins.own === null });
      });
    return () => controller.abort();
  }, [client, may, jobId, t]);
  return model;
}

/** Without permission to read the job's config, only the folder's current config of that name is available. */
async function originsOf(client: Client, may: May, job: JobView): Promise<Origins> {
  const { id, config_name: name } = job;
  const own = may(queueApi.config, job) ? await client.call(queueApi.config, { params: { id } }) : null;
  return {
    own: own?.ok === true ? { config: own.value.config, dataloader: own.value.dataloader ?? null } : null,
    inFolder: isNamed(job) ? await findTraining(client, name) : null,
  };
}
