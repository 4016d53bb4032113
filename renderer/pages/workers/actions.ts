import { createContext, useContext } from 'react';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import type { CallFailure } from '../../../protocol/client.ts';
import type { Joining } from './join/join-commands.ts';
import type { JoinOffer } from './join/join-offer.ts';

/** An action in progress or just completed; each has a dialog. */
export type WorkerAction =
  | { readonly kind: 'join' }
  | { readonly kind: 'edit' | 'rotate' | 'remove'; readonly worker: WorkerView }
  | { readonly kind: 'drain'; readonly workers: readonly WorkerView[] }
  | { readonly kind: 'drained'; readonly workers: readonly WorkerView[] }
  /**
   * A token that is shown only once, and the join token that most users need instead; null when the join token could not be made. `isNew`:
   * the worker has not joined yet.
   */
  | {
      readonly kind: 'issued';
      readonly id: WorkerId;
      /** Contains the permanent token. The pin depends on the selected address. */
      readonly joining: Omit<Joining, 'pin'>;
      readonly offer: JoinOffer | null;
      readonly isNew: boolean;
    };

/** The outcome per worker; a missing entry means that the call is still running. */
export type Outcomes = ReadonlyMap<WorkerId, 'done' | CallFailure>;

export type StartAction = (action: WorkerAction) => void;

const StartActionContext = createContext<StartAction>(() => undefined);
export const StartActionProvider = StartActionContext.Provider;
/** Returns the function that opens the dialog of an action. */
export const useStartAction = (): StartAction => useContext(StartActionContext);
