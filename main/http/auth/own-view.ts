import type { UiEvent } from '../../../protocol/events.ts';
import type { Concurrency } from '../../../protocol/queue.ts';
import { workersApi } from '../../../protocol/admin-api.ts';
import { reachOf } from '../../../protocol/call.ts';
import { templatesApi } from '../../../protocol/templates-api.ts';
import type { Principal } from '../../orchestrator/index.ts';

/** Removes other users' names from the queue settings. */
export const ownLimits = <T extends Pick<Concurrency, 'approval_required_for'>>(
  limits: T,
  user: string | null,
): T =>
  user === null
    ? limits
    : {
        ...limits,
        approval_required_for: limits.approval_required_for.filter(name => name === user || name === '*'),
      };

/**
 * Creates the event filter for tokens with `queue.view.own`. Such tokens receive events of their own jobs, of the queue, and of
 * workers if they may list workers. A `hidden` event, which only has a number and a time, replaces any other event. The client
 * then sees no gap and can resume after the hidden event.
 */
export function createOwnEvents(): (event: UiEvent, principal: Principal) => UiEvent {
  // All clients share one hidden object per event, so it is encoded only once.
  const hidden = new WeakMap<UiEvent, UiEvent>();
  const hide = (event: UiEvent): UiEvent => {
    const hiddenEvent = hidden.get(event) ?? { kind: 'hidden', seq: event.seq, at: event.at };
    hidden.set(event, hiddenEvent);
    return hiddenEvent;
  };
  return (event, { user, permissions }) => {
    const seesWorkers = reachOf(permissions, workersApi.list) === 'all';
    switch (event.kind) {
      case 'hidden':
      case 'reset':
        return event;
      case 'queue':
        return { ...event, queue: ownLimits(event.queue, user) };
      case 'template':
        return reachOf(permissions, templatesApi.list) === 'none' ? hide(event) : event;
      case 'pool':
      case 'worker':
        return seesWorkers ? event : hide(event);
      case 'job': {
        if ((event.job?.user ?? event.user) !== user) return hide(event);
        if (seesWorkers) return event;
        const { worker: _, ...rest } = event;
        return rest;
      }
    }
  };
}
