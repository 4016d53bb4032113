import { useEffect, useState } from 'react';
import { type DatasetView, datasetsApi } from '../../../../protocol/datasets-api.ts';
import { usePanel } from '../../../app/context.ts';
import { Button } from '../../../ui/button.tsx';
import { placesText } from '../../data/rigs.ts';
import { sizeText } from '../figures.ts';
import { Field } from '../field.tsx';
import { ConfigText } from './config-parts.tsx';
import type { Draft } from './draft.ts';
import { useSubmitT } from './texts.tsx';
import type { DryRun } from './use-live-answer.ts';

interface DataProps {
  readonly draft: Draft;
  readonly answer: DryRun | null;
  readonly change: (part: Partial<Draft>) => void;
}

/** Selects the training data for each path in the config: the folder on the rig, or a stored dataset. */
export function DataCard({ draft, answer, change }: DataProps) {
  const t = useSubmitT();
  const paths = [...new Set([...draft.data.map(({ path }) => path), ...(answer?.needs?.data ?? [])])];
  const files = answer?.needs?.files ?? [];
  const hasDataloader = draft.dataloader !== null && draft.dataloader !== undefined;
  if (paths.length === 0 && files.length === 0 && !hasDataloader) return null;
  return (
    <fieldset className="card">
      <legend>{t('nav.data')}</legend>
      <div className="card-body">
        {paths.map(path => (
          <DataChoice key={path} path={path} draft={draft} change={change} />
        ))}
        {files.length > 0 && <p className="muted">{t('submit.files', { list: files.join(', ') })}</p>}
        {hasDataloader && (
          <details className="chosen">
            <summary>{t('jobs.configs.dataloaderGoes')}</summary>
            <ConfigText value={draft.dataloader} label={t('jobs.config.dataloader')} />
            <div>
              <Button onClick={() => change({ dataloader: null })}>
                {t('jobs.configs.dataloaderLeave')}
              </Button>
            </div>
          </details>
        )}
      </div>
    </fieldset>
  );
}

interface ChoiceProps extends Omit<DataProps, 'answer'> {
  readonly path: string;
}

function DataChoice({ path, draft: { data }, change }: ChoiceProps) {
  const t = useSubmitT();
  const datasets = useDatasets();
  const chosen = data.find(each => each.path === path);
  const stored = datasets.find(each => each.version === chosen?.version);
  const places = stored === undefined ? null : placesText(stored, t);
  const choose = (version: string): void => {
    const others = data.filter(each => each.path !== path);
    const next = datasets.find(each => each.version === version);
    const isFile = next?.version === chosen?.version ? (chosen?.is_file ?? false) : false;
    change({ data: version === '' ? others : [...others, { path, version, is_file: isFile }] });
  };
  return (
    <Field label={path} hint={places ?? undefined}>
      {tied => (
        <select {...tied} value={chosen?.version ?? ''} onChange={({ target }) => choose(target.value)}>
          <option value="">{t('submit.dataOnRig')}</option>
          {datasets.map(({ id, name, version, files, bytes }) => (
            <option key={id} value={version}>
              {t('submit.dataset', { name, count: files, size: sizeText(bytes, t.language) })}
            </option>
          ))}
          {chosen !== undefined && !datasets.some(({ version }) => version === chosen.version) && (
            <option value={chosen.version}>{chosen.version.slice(0, 12)}</option>
          )}
        </select>
      )}
    </Field>
  );
}

/** Reads the stored datasets once. Returns an empty list for users who may not list datasets. */
function useDatasets(): readonly DatasetView[] {
  const { client, may } = usePanel();
  const [datasets, setDatasets] = useState<readonly DatasetView[]>([]);
  const isAllowed = may(datasetsApi.list);
  useEffect(() => {
    if (!isAllowed) return undefined;
    const controller = new AbortController();
    void client.call(datasetsApi.list, { query: {}, signal: controller.signal }).then(answer => {
      if (answer.ok) setDatasets(answer.value.datasets);
    });
    return () => controller.abort();
  }, [client, isAllowed]);
  return datasets;
}
