import { useParams } from 'wouter';
import './data.css';
import { DatasetPage } from './detail.tsx';
import { DatasetList } from './list.tsx';
import { useDatasets } from './use-datasets.ts';

export function DataPage() {
  const { id } = useParams<{ readonly id?: string }>();
  const read = useDatasets();
  return id === undefined ? <DatasetList read={read} /> : <DatasetPage id={id} read={read} />;
}
