import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from 'react';
import type { JobView } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { useMay, usePanel } from '../../../app/context.ts';
import { usePreferences } from '../../../state/stores.ts';
import type { Column } from '../../../ui/table.tsx';
import { type ConfigValueReader, createConfigValueReader } from './config-values.ts';

export const ConfigValuesContext = createContext<ConfigValueReader | null>(null);

/** Returns columns for the config keys that the user has chosen in this browser, and a reader for their values. */
export function useConfigColumns() {
  const { client, preferences } = usePanel();
  const isAllowed = useMay()(queueApi.configValues);
  const { jobColumns } = usePreferences(preferences);
  const chosen = useMemo(() => (isAllowed ? jobColumns : []), [isAllowed, jobColumns]);
  const reader = useMemo(() => createConfigValueReader(client, chosen), [client, chosen]);
  const columns = useMemo(() => chosen.map(configColumn), [chosen]);
  return { columns, reader };
}

/** Maximum length of a title. Longer titles are cut; the hint shows the whole key. */
const maxTitle = 24;
/** Approximate width of one character in a title, in pixels. */
const titlePx = 7.5;

function configColumn(key: string): Column<JobView> {
  const name = key.slice(key.lastIndexOf('.') + 1);
  const title = name.length > maxTitle ? `${name.slice(0, maxTitle - 1)}…` : name;
  return {
    id: `config ${key}`,
    title,
    hint: key,
    width: `minmax(${Math.max(84, Math.ceil(title.length * titlePx))}px, 0.5fr)`,
    cell: job => <ConfigValue job={job} name={key} />,
  };
}

function ConfigValue({ job: { id }, name }: { readonly job: JobView; readonly name: string }) {
  const reader = useContext(ConfigValuesContext);
  useEffect(() => reader?.want(id), [reader, id]);
  const values = useSyncExternalStore(reader?.subscribe ?? never, () => reader?.valuesOf(id) ?? null);
  const text = values?.[name];
  return text === undefined ? null : (
    <span className="mono config-value" title={text} translate="no">
      {text}
    </span>
  );
}

const never = () => (): void => undefined;
