import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleetTexts } from '../../../app/fleet-texts.ts';
import { useT } from '../../../i18n/index.ts';
import { figure } from '../../workers/texts.ts';
import type { GpuCell } from './gpu-cells.ts';
import { useCells } from './use-cells.ts';
import './gpu-table.css';

const columns = ['load', 'memory', 'temperature', 'power'] as const;

/** Shows the readings of each GPU as bars. Shows a note if there are no readings, and nothing for an offline worker. */
export function GpuTable({ worker }: { readonly worker: WorkerView }) {
  const t = useFleetTexts();
  const cells = useCells(worker);
  if (worker.status === 'offline') return null;
  if (cells.every(({ figures }) => figures === null)) return <p className="muted">{t('fleet.noFigures')}</p>;
  return (
    <table className="rig-gpus">
      <caption className="unseen">{t('fleet.table', { worker: worker.name })}</caption>
      <thead>
        <tr>
          <th scope="col">{t('map.column.gpu')}</th>
          {columns.map(column => (
            <th key={column} scope="col">
              {t(`fleet.column.${column}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {cells.map(cell => (
          <GpuRow key={cell.index} cell={cell} />
        ))}
      </tbody>
    </table>
  );
}

function GpuRow({ cell }: { readonly cell: GpuCell }) {
  const t = useT();
  const { figures, totalGb, trouble } = cell;
  const { utilization: load = null, vram_used_gb: used = null } = figures ?? {};
  const {
    temperature_c: temperature = null,
    power_w: power = null,
    power_limit_w: limit = null,
  } = figures ?? {};
  const whole = (value: number): string => figure(t, Math.round(value));
  return (
    <tr data-trouble={trouble ?? undefined}>
      <th scope="row">
        {cell.index}
        {trouble !== null && <span className="gpu-mark">!</span>}
      </th>
      <Bar
        value={load}
        max={100}
        text={load === null ? null : t('workers.percent', { value: Math.round(load) })}
      />
      <Bar
        value={used}
        max={totalGb}
        text={used === null ? null : `${figure(t, used)}${totalGb === null ? '' : ` / ${whole(totalGb)}`} GB`}
      />
      <Bar
        value={temperature}
        max={110}
        isHot={trouble === 'hot'}
        text={temperature === null ? null : t('fleet.celsius', { value: whole(temperature) })}
      />
      <Bar
        value={power}
        max={limit}
        text={power === null ? null : t('fleet.watts', { value: whole(power) })}
      />
    </tr>
  );
}

interface BarProps {
  readonly value: number | null;
  /** Value of a full bar; null for a value without a bar. */
  readonly max: number | null;
  readonly text: string | null;
  readonly isHot?: boolean;
}

function Bar({ value, max, text, isHot = false }: BarProps) {
  const t = useT();
  if (value === null) return <td className="muted">{t('time.none')}</td>;
  const percent = max === null || max === 0 ? null : Math.min(100, (100 * value) / max);
  return (
    <td data-hot={isHot}>
      {text}
      {percent !== null && (
        <span className="gpu-bar" aria-hidden="true">
          <span style={{ width: `${percent}%` }} />
        </span>
      )}
    </td>
  );
}
