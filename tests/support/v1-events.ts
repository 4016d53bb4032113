/**
 * The observable events of a v1 agent, in order. Tests wait for events instead of sleeping. Numbers in brackets are items of
 * docs/internals/worker-contract.md, section 3.
 */

/**
 * The job for which the agent starts a trainer [2, 3]. `uploadUrl`: the orchestrator's URL with the `upload_endpoint` of the
 * offer.
 */
export interface V1Job {
  readonly jobId: string;
  readonly config: unknown;
  readonly dataloader: unknown;
  readonly provider: unknown;
  readonly uploadUrl: string;
  readonly uploadToken: string;
  readonly hfToken: string | null;
}

export type V1JobStatus = 'starting' | 'training' | 'completed' | 'failed' | 'cancelled';

/** The cause of an agent's exit. SimpleTuner's published agent exits with code 0 even after a 401. */
export type V1ExitCause = 'shutdown' | 'unauthorized' | 'killed' | 'usage' | 'crashed';

export type V1Observation =
  /** The server answered a registration. `namedJob` is the `current_job_id` of the registration [9, 12]. */
  | {
      readonly kind: 'registered';
      readonly workerId: string;
      readonly namedJob: string | null;
      readonly resumeJob: string | null;
      readonly abandonJob: string | null;
    }
  | { readonly kind: 'streamOpen'; readonly workerId: string }
  /** The server ended the stream in an orderly way. The agent registers again immediately [9]. */
  | { readonly kind: 'streamEnded' }
  /** The registration or the stream failed. The agent waits 10 s unless `status` is 401 [9, 11]. */
  | { readonly kind: 'connectionLost'; readonly status: number | null; readonly message: string }
  /** A line of the stream arrived while the agent is blocked by its silent trainer. The agent reads the line later [10]. */
  | { readonly kind: 'lineHeld'; readonly text: string }
  /** The agent read a `data: ` line with one JSON object [1]. */
  | { readonly kind: 'lineReceived'; readonly event: Readonly<Record<string, unknown>> }
  /** The agent read and ignored a `data: ` line that is not JSON, such as one cut by U+2028 [1]. */
  | { readonly kind: 'lineUnreadable'; readonly text: string }
  | { readonly kind: 'jobStarted'; readonly job: V1Job }
  /**
   * From here until the trainer prints or ends, the loop is blocked: the agent sends no heartbeat and handles no line or signal
   * [10].
   */
  | { readonly kind: 'trainerAwaited'; readonly jobId: string }
  /** A `job_submit` arrived while the agent's trainer runs, or while the agent believes that the trainer runs [5]. */
  | { readonly kind: 'jobIgnored'; readonly jobId: string; readonly heldJob: string }
  /** A `job_submit` arrived while the final report of the previous job was waiting for its answer [4]. */
  | { readonly kind: 'jobDropped'; readonly jobId: string; readonly heldJob: string }
  | { readonly kind: 'trainerLine'; readonly jobId: string; readonly line: string }
  | { readonly kind: 'trainerExited'; readonly jobId: string; readonly code: number }
  /** The watcher of this job's trainer failed. The agent reports nothing more about the job. */
  | { readonly kind: 'watcherDied'; readonly jobId: string; readonly message: string }
  /** A status report has ended; `answerStatus` is null when no answer arrived. The agent ignores the answer [8]. */
  | {
      readonly kind: 'statusPosted';
      readonly jobId: string;
      readonly status: V1JobStatus;
      readonly error: string | null;
      readonly answerStatus: number | null;
      readonly answerBody: unknown;
    }
  /** The agent forgot its job (null if it had none). From now on, it accepts another job [4, 7]. */
  | { readonly kind: 'jobCleared'; readonly jobId: string | null; readonly by: 'watcher' | 'stop' }
  | {
      readonly kind: 'heartbeatSent';
      readonly status: 'idle' | 'busy';
      readonly currentJobId: string | null;
      readonly answerStatus: number | null;
    }
  /** An ephemeral agent requested the queue after its job [11]. */
  | { readonly kind: 'queueAsked'; readonly answerStatus: number | null; readonly hasJobs: boolean }
  /** The shutdown flag is set. The agent acts on the flag at the next line or at the end of the stream [11, 14]. */
  | { readonly kind: 'leaving'; readonly by: 'shutdown' | 'queue' | 'signal'; readonly reason: string | null }
  | { readonly kind: 'disconnectPosted'; readonly answerStatus: number | null }
  | { readonly kind: 'exited'; readonly code: number; readonly cause: V1ExitCause };

export type V1Kind = V1Observation['kind'];
export type V1ObservationOf<K extends V1Kind> = Extract<V1Observation, { readonly kind: K }>;

export interface V1Events {
  /** All observations so far, oldest first. */
  readonly seen: readonly V1Observation[];
  /** All observations of one kind, oldest first. */
  of<K extends V1Kind>(kind: K): V1ObservationOf<K>[];
  /** The current position. Pass it to `waitFor` as `from` to skip older observations. */
  mark(): number;
  /**
   * Resolves with the first past or future observation of this kind at or after `from` that `where` accepts. Rejects
   * when the agent exits without one.
   */
  waitFor<K extends V1Kind>(
    kind: K,
    where?: (observation: V1ObservationOf<K>) => boolean,
    from?: number,
  ): Promise<V1ObservationOf<K>>;
}

interface Waiter {
  readonly offer: (observation: V1Observation) => boolean;
  readonly giveUp: (cause: V1ObservationOf<'exited'>) => void;
}

export function createV1Events(): V1Events & { emit(observation: V1Observation): void } {
  const seen: V1Observation[] = [];
  let waiters: Waiter[] = [];

  function isKind<K extends V1Kind>(observation: V1Observation, kind: K): observation is V1ObservationOf<K> {
    return observation.kind === kind;
  }

  return {
    seen,
    of: <K extends V1Kind>(kind: K) => seen.filter(observation => isKind(observation, kind)),
    mark: () => seen.length,
    waitFor<K extends V1Kind>(
      kind: K,
      where: (observation: V1ObservationOf<K>) => boolean = () => true,
      from = 0,
    ): Promise<V1ObservationOf<K>> {
      const promise = new Promise<V1ObservationOf<K>>((resolve, reject) => {
        const offer = (observation: V1Observation): boolean => {
          if (!isKind(observation, kind) || !where(observation)) return false;
          resolve(observation);
          return true;
        };
        const giveUp = ({ code, cause }: V1ObservationOf<'exited'>): void => {
          const seenKinds = seen.map(observation => observation.kind).join(', ');
          reject(
            new Error(
              `the v1 agent exited (${code}, ${cause}) without the awaited ${kind}; saw: ${seenKinds}`,
            ),
          );
        };
        if (seen.slice(from).some(offer)) return;
        const exit = seen.find(observation => isKind(observation, 'exited'));
        if (exit !== undefined) giveUp(exit);
        else waiters.push({ offer, giveUp });
      });
      promise.catch(() => undefined); // no unhandled rejection when a test drops the wait
      return promise;
    },
    emit(observation) {
      seen.push(observation);
      waiters = waiters.filter(waiter => !waiter.offer(observation));
      if (observation.kind !== 'exited') return;
      for (const waiter of waiters) waiter.giveUp(observation);
      waiters = [];
    },
  };
}
