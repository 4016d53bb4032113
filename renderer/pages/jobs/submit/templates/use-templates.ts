import { useMemo } from 'react';
import type { CallFailure } from '../../../../../protocol/client.ts';
import type { TemplateDetail, TemplateView } from '../../../../../protocol/template.ts';
import { templatesApi } from '../../../../../protocol/templates-api.ts';
import { useFleet, useLoaded } from '../../../../app/context.ts';
import { useDelayedValue } from '../../../../app/use-event-reads.ts';

/** Many events in a short time cause one read. */
const settleMs = 300;

/** Changes when templates must be read again: after an event, after an own action, and when the stream has returned. */
function useVersion(): string {
  const seq = useFleet(({ fleet }) => fleet.templateSeq);
  const isLive = useFleet(({ stream }) => stream.kind === 'live');
  const acted = useFleet(state => state.acted);
  return useDelayedValue(`${seq} ${isLive} ${acted}`, settleMs);
}

/** Returns all templates; null before the first answer. */
export function useTemplates(): readonly TemplateView[] | null {
  const { value } = useLoaded(templatesApi.list, undefined, useVersion());
  return value?.templates ?? null;
}

interface TemplateRead {
  /** The newest answer; null before the first. */
  readonly template: TemplateDetail | null;
  readonly failure: CallFailure | null;
}

export function useTemplate(name: string): TemplateRead {
  const input = useMemo(() => ({ params: { template: name } }), [name]);
  const { value, failure } = useLoaded(templatesApi.get, input, useVersion());
  return { template: value?.name === name ? value : null, failure };
}

/** Address of the page that submits from a template. */
export const addressOf = (name: string): string => `/jobs/new?template=${encodeURIComponent(name)}`;
