import { createContext, useContext } from 'react';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import type { Joining } from './join/join-commands.ts';
import type { JoinOffer } from './join/join-offer.ts';

/** An action on workers whose dialog is open. */
export type WorkerAction =
  | { readonly kind: 'join' }
  | { readonly kind: 'drain' | 'edit' | 'rotate' | 'remove'; readonly worker: WorkerView }
  | { readonly kind: 'update'; readonly workers: readonly WorkerView[] }
  | { readonly kind: 'bulk'; readonly what: BulkKind; readonly workers: readonly WorkerView[] }
  /**
   * A worker token was issued. The dialog shows the worker token only once, and also a join token, which most users need
   * instead. `offer` is null if the join token could not be created. `isNew` is true if the worker was just created.
   */
  | {
      readonly kind: 'issued';
      readonly id: WorkerId;
      /**
       * The data for joining, with the permanent worker token. The pin is missing, because it depends on the URL that the
       * user selects.
       */
      readonly joining: Omit<Joining, 'pin'>;
      readonly offer: JoinOffer | null;
      readonly isNew: boolean;
    };

/** An action on several workers. */
export type BulkKind = 'drain' | 'undrain' | 'labels';

export type StartAction = (action: WorkerAction) => void;

const StartActionContext = createContext<StartAction>(() => undefined);
export const StartActionProvider = StartActionContext.Provider;
/** Returns the function that opens the dialog for an action. */
export const useStartAction = (): StartAction => useContext(StartActionContext);
