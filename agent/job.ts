import type { JobData } from '../protocol/dataset.ts';
import type { AttemptId, JobId } from '../protocol/ids.ts';
import type { WorkerCommand } from '../protocol/worker-api.ts';
import type { Command } from './process/process-group.ts';

/** A job as the orchestrator offers it to this worker. */
export type JobOffer = Extract<WorkerCommand, { type: 'job_submit' }>;

/** The location of a job's dataset on this rig, once it has been fetched. */
export interface DataTarget {
  readonly data: JobData;
  readonly folder: string;
  /** The path that replaces the one in the config: the folder, or the file in it. */
  readonly path: string;
}

/** A job whose files are in place, so that its trainer can be started. */
export interface PreparedJob extends Command {
  /** The job's own folder. */
  readonly folder: string;
  readonly outputDir: string;
  /** Whether the trainer writes each sample as a file. Images in its event files are then only copies. */
  readonly samplesAreFiles: boolean;
  /** The locations at which the job's data must be before the trainer starts. */
  readonly dataTargets: readonly DataTarget[];
  /** File for everything that the trainer prints. */
  readonly logFile: string;
  /** The checkpoint of another job from which the trainer continues; absent for none. */
  readonly resumeInput?: ResumeInput;
}

/** A checkpoint of another job, from which the trainer continues. */
export interface ResumeInput {
  /** Path of the fetched file or folder. */
  readonly from: string;
  /** Where the trainer looks for it, below the output folder. */
  readonly to: string;
}

/** The number of this machine (`rank`) among the workers that train a job together, and their total (`count`). */
export type JobNode = NonNullable<JobOffer['node']>;

/** The address on the first machine to which all processes of a training on several machines connect. */
export interface Rendezvous {
  readonly address: string;
  readonly port: number;
}

/** The machines of an allocation. The worker runs on the first one. */
export interface Nodes extends Rendezvous {
  readonly count: number;
}

/** The agent's current attempt, from the offer to the acknowledged report. There is at most one. */
export interface Held {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
}
