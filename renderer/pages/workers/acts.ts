import { createContext, useContext } from 'react';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import type { CallFailure } from '../../../protocol/client.ts';
import type { Joining } from './join-commands.ts';
import type { JoinOffer } from './join-offer.ts';

/** What somebody is about to do, or has just done: each has its dialog. */
export type Act =
  | { readonly kind: 'join' }
  | { readonly kind: 'edit' | 'rotate' | 'remove'; readonly worker: WorkerView }
  | { readonly kind: 'drain'; readonly workers: readonly WorkerView[] }
  | { readonly kind: 'drained'; readonly workers: readonly WorkerView[] }
  /**
   * A token, which is shown this once, and the join token that most need instead; null when that could not be made. `isNew`
   * when the worker is still to come.
   */
  | {
      readonly kind: 'issued';
      readonly id: WorkerId;
      /** With the lasting token. The pin goes by the address that is picked. */
      readonly joining: Omit<Joining, 'pin'>;
      readonly offer: JoinOffer | null;
      readonly isNew: boolean;
    };

/** What became of each of several; one that is missing is still asked. */
export type Outcomes = ReadonlyMap<WorkerId, 'done' | CallFailure>;

export type Start = (act: Act) => void;

const StartContext = createContext<Start>(() => undefined);
export const StartProvider = StartContext.Provider;
/** Opens the dialog of an act. */
export const useStart = (): Start => useContext(StartContext);
