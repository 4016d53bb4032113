import { useT } from '../../i18n/index.ts';
import { figure } from './texts.ts';

interface FigureCellProps {
  /** Null if the worker does not report this figure. */
  readonly value: number | null;
  readonly unit: 'fleet.celsius' | 'fleet.watts';
}

export function FigureCell({ value, unit }: FigureCellProps) {
  const t = useT();
  if (value === null) return <span className="muted">{t('time.none')}</span>;
  return <span className="worker-figure">{t(unit, { value: figure(t, Math.round(value)) })}</span>;
}

export function TextCell({ text }: { readonly text: string | null }) {
  const t = useT();
  if (text === null) return <span className="muted">{t('time.none')}</span>;
  return <span title={text}>{text}</span>;
}
