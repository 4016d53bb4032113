import type { JobId } from '../../protocol/ids.ts';

/** A file of a parent that a job takes as its input. */
export interface WantedInput {
  readonly name: string;
  /** One of the job's parents. */
  readonly from: JobId;
  /** Which file, in the words of the request (protocol/job-inputs). */
  readonly file: string;
}

/** A file, or a folder of files, of another job that an attempt takes as its input. */
export interface AttemptInput {
  readonly name: string;
  /** The job that has the files. */
  readonly jobId: JobId;
  /** Key of the file or folder there. */
  readonly key: string;
  /** Step of the checkpoint; null if it is none. */
  readonly step: number | null;
  readonly files: readonly InputContent[];
}

interface InputContent {
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
}
