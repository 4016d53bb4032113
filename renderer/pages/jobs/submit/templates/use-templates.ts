import { useMemo } from 'react';
import type { CallFailure } from '../../../../../protocol/client.ts';
import type { TemplateDetail, TemplateView } from '../../../../../protocol/template.ts';
import { templatesApi } from '../../../../../protocol/templates-api.ts';
import { useFleet, useLoaded } from '../../../../app/context.ts';
import { useDelayedValue } from '../../../../app/use-event-reads.ts';

/** Delay before a read, so that many events in a short time cause only one read. */
const rereadDelayMs = 300;

/** Returns a text that changes when templates must be read again: after events, user actions and reconnects. */
function useVersion(): string {
  const seq = useFleet(({ fleet }) => fleet.templateSeq);
  const isLive = useFleet(({ stream }) => stream.kind === 'live');
  const acted = useFleet(state => state.acted);
  return useDelayedValue(`${seq} ${isLive} ${acted}`, rereadDelayMs);
}

/** Returns all templates; null before the first answer. */
export function useTemplates(): readonly TemplateView[] | null {
  const { value } = useLoaded(templatesApi.list, undefined, useVersion());
  return value?.templates ?? null;
}

interface TemplateRead {
  /** The newest answer; null before the first answer. */
  readonly template: TemplateDetail | null;
  readonly failure: CallFailure | null;
}

export function useTemplate(name: string): TemplateRead {
  const input = useMemo(() => ({ params: { template: name } }), [name]);
  const { value, failure } = useLoaded(templatesApi.get, input, useVersion());
  return { template: value?.name === name ? value : null, failure };
}

/** Returns the path of the page that submits from a template. */
export const addressOf = (name: string): string => `/jobs/new?template=${encodeURIComponent(name)}`;
