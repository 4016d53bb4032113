import type { Check } from '../world/scene.ts';

/**
 * Checks invariant I6 (docs/internals/faults.md): the panel receives each stored event once and in order, even after
 * reconnects.
 */
export const watchPanel: Check = scene => {
  let last = 0;
  return {
    onPanelEvent(event) {
      if (event.seq !== last + 1 || event.kind === 'reset')
        scene.violate(
          'I6 the event stream has no gap and no repeat',
          `${event.kind} ${event.seq} follows ${last}`,
        );
      last = event.seq;
      const [stored] = scene.disk.store.eventsAfter(event.seq - 1, 1);
      if (stored?.seq !== event.seq || stored.type !== event.type)
        scene.violate('I6 every event is stored', `${event.seq} ${event.type ?? ''} is not in the log`);
    },
    atEnd() {
      const stored = scene.disk.store.eventRange().last;
      if (last !== stored)
        scene.violate(
          'I6 the event stream has no gap and no repeat',
          `the panel received ${last} of ${stored} events`,
        );
    },
  };
};
