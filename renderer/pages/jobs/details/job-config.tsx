import { useEffect, useState } from 'react';
import type { CallFailure } from '../../../../protocol/client.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { configsApi } from '../../../../protocol/configs-api.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Empty } from '../../../ui/empty.tsx';
import { ConfigDiff, ConfigText } from '../submit/config-parts.tsx';
import { isNamed, compareWithFolder, type Training } from '../submit/draft.ts';
import { findTraining } from '../submit/configs.ts';

interface Found {
  readonly own: Training;
  /** The folder's current config with the same name; null when there is none. */
  readonly inFolder: Training | null;
}

/** Shows the job's config, and its differences from the config of the same name in the folder. */
export function JobConfig({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const { found, failure } = useFound(job);
  if (failure !== null) return <Empty why={detailOf(failure) ?? t('error.unreachable')} />;
  if (found === null) return <div aria-busy="true" />;
  const { own, inFolder } = found;
  const isOther = inFolder !== null && compareWithFolder(own, inFolder) === 'other';
  const name = job.config_name;
  return (
    <>
      <section className="card" aria-labelledby="job-config">
        <h2 id="job-config">{t('jobs.config.title')}</h2>
        <p className="muted">{t('jobs.config.copy')}</p>
        <ConfigText value={own.config} label={t('jobs.config.title')} />
      </section>
      {own.dataloader !== null && (
        <section className="card" aria-labelledby="job-dataloader">
          <h2 id="job-dataloader">{t('jobs.config.dataloader')}</h2>
          <ConfigText value={own.dataloader} label={t('jobs.config.dataloader')} />
        </section>
      )}
      {isOther && (
        <section className="card" aria-labelledby="job-config-diff">
          <h2 id="job-config-diff">{t('jobs.config.otherNow', { name })}</h2>
          <ConfigDiff
            before={asOne(inFolder)}
            after={asOne(own)}
            label={t('jobs.config.otherNow', { name })}
            names={[t('jobs.diff.folder'), t('jobs.diff.job')]}
          />
        </section>
      )}
    </>
  );
}

/** Returns config and dataloader as one object, with the dataloader under its own key. */
const asOne = ({ config, dataloader }: Training): unknown =>
  dataloader === null ? config : { ...config, dataloader };

function useFound({ id, config_name: name }: JobDetail): {
  readonly found: Found | null;
  readonly failure: CallFailure | null;
} {
  const { client, may } = usePanel();
  const isCompared = isNamed({ config_name: name }) && may(configsApi.get);
  const [found, setFound] = useState<Found | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      const [own, now] = await Promise.all([
        client.call(queueApi.config, { params: { id }, signal: controller.signal }),
        isCompared ? findTraining(client, name) : null,
      ]);
      if (controller.signal.aborted) return;
      if (!own.ok) return setFailure(own.failure);
      const { config, dataloader } = own.value;
      setFound({
        own: { config, dataloader: dataloader ?? null },
        inFolder: now,
      });
    };
    void read();
    return () => controller.abort();
  }, [client, id, name, isCompared]);
  return { found, failure };
}
