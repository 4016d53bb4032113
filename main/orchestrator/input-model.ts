import type { JobId } from '../../protocol/ids.ts';

/** An input that a job takes from one of its parents. */
export interface WantedInput {
  readonly name: string;
  /** One of the job's parents. */
  readonly from: JobId;
  /** Describes the wanted file, in the syntax of the request (protocol/job-inputs). */
  readonly file: string;
}

/** A file, or a folder of files, of another job that an attempt takes as its input. */
export interface AttemptInput {
  readonly name: string;
  /** The job that provides the files. */
  readonly jobId: JobId;
  /** Key of the file or folder in that job. */
  readonly key: string;
  /** Step of the checkpoint; null if the input is no checkpoint. */
  readonly step: number | null;
  readonly files: readonly InputContent[];
}

interface InputContent {
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
}
