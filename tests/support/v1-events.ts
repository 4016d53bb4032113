/**
 * What a v1 agent lets a test see. Every observation is recorded in order; a test waits for one instead of
 * sleeping. Numbers in brackets are items of CONTRACT.md, section 3.
 */

/** A job as its trainer was started with it [2, 3]. `uploadUrl` is the orchestrator's URL + the event's path. */
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

/** Why an agent ended; the published one leaves with code 0 even after a 401. */
export type V1ExitCause = 'shutdown' | 'unauthorized' | 'killed' | 'usage' | 'crashed';

export type V1Observation =
  /** A registration was answered; `namedJob` is the `current_job_id` it carried [9, 12]. */
  | {
      readonly kind: 'registered';
      readonly workerId: string;
      readonly namedJob: string | null;
      readonly resumeJob: string | null;
      readonly abandonJob: string | null;
    }
  | { readonly kind: 'streamOpen'; readonly workerId: string }
  /** The server ended the stream in good order: the next registration follows at once [9]. */
  | { readonly kind: 'streamEnded' }
  /** Registration or stream failed; a wait of 10 s follows unless `status` is 401 [9, 11]. */
  | { readonly kind: 'connectionLost'; readonly status: number | null; readonly message: string }
  /** A line of the stream arrived while the trainer's silence blocks the agent; it is not heard yet [10]. */
  | { readonly kind: 'lineHeld'; readonly text: string }
  /** A `data: ` line was heard and is one JSON object [1]. */
  | { readonly kind: 'lineReceived'; readonly event: Readonly<Record<string, unknown>> }
  /** A `data: ` line was heard that is no JSON, such as one cut by U+2028: passed over [1]. */
  | { readonly kind: 'lineUnreadable'; readonly text: string }
  | { readonly kind: 'jobStarted'; readonly job: V1Job }
  /** Its loop is blocked from here until the trainer prints or ends: no beat, no line, no signal is felt [10]. */
  | { readonly kind: 'trainerAwaited'; readonly jobId: string }
  /** `job_submit` while a trainer runs, or while the agent believes so [5]. */
  | { readonly kind: 'jobIgnored'; readonly jobId: string; readonly heldJob: string }
  /** `job_submit` while the terminal report of the job before is still being answered [4]. */
  | { readonly kind: 'jobDropped'; readonly jobId: string; readonly heldJob: string }
  | { readonly kind: 'trainerLine'; readonly jobId: string; readonly line: string }
  | { readonly kind: 'trainerExited'; readonly jobId: string; readonly code: number }
  /** The watcher of this job's trainer ended by an error: nothing will be reported about it. */
  | { readonly kind: 'watcherDied'; readonly jobId: string; readonly message: string }
  /** A status post came back (`answerStatus` null: it never did). The agent looks at neither field [8]. */
  | {
      readonly kind: 'statusPosted';
      readonly jobId: string;
      readonly status: V1JobStatus;
      readonly error: string | null;
      readonly answerStatus: number | null;
      readonly answerBody: unknown;
    }
  /** The agent forgot its job (null: it had none left to forget) and takes another from here on [4, 7]. */
  | { readonly kind: 'jobCleared'; readonly jobId: string | null; readonly by: 'watcher' | 'stop' }
  | {
      readonly kind: 'heartbeatSent';
      readonly status: 'idle' | 'busy';
      readonly currentJobId: string | null;
      readonly answerStatus: number | null;
    }
  /** The ephemeral agent's question after its job [11]. */
  | { readonly kind: 'queueAsked'; readonly answerStatus: number | null; readonly hasJobs: boolean }
  /** The shutdown flag is set; it is acted on at the next line of the stream, or its end [11, 14]. */
  | { readonly kind: 'leaving'; readonly by: 'shutdown' | 'queue' | 'signal'; readonly reason: string | null }
  | { readonly kind: 'disconnectPosted'; readonly answerStatus: number | null }
  | { readonly kind: 'exited'; readonly code: number; readonly cause: V1ExitCause };

export type V1Kind = V1Observation['kind'];
export type V1ObservationOf<K extends V1Kind> = Extract<V1Observation, { readonly kind: K }>;

export interface V1Events {
  /** Everything observed so far, oldest first. */
  readonly seen: readonly V1Observation[];
  /** All observations of one kind, oldest first. */
  of<K extends V1Kind>(kind: K): V1ObservationOf<K>[];
  /** A position to hand to `waitFor` as `from`, so that older observations do not count. */
  mark(): number;
  /**
   * The first observation of this kind at or after `from` that `where` accepts, already seen or still to come.
   * Rejects when the agent has exited without it.
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
          const story = seen.map(observation => observation.kind).join(', ');
          reject(
            new Error(`the v1 agent exited (${code}, ${cause}) without the awaited ${kind}; saw: ${story}`),
          );
        };
        if (seen.slice(from).some(offer)) return;
        const end = seen.find(observation => isKind(observation, 'exited'));
        if (end !== undefined) giveUp(end);
        else waiters.push({ offer, giveUp });
      });
      promise.catch(() => undefined); // a wait that a test has dropped must not count as unhandled
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
