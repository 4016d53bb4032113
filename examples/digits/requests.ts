import { lstat, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemErrorText } from './checked.ts';
import type { LabelledImages } from './dataset.ts';
import type { Network } from './network.ts';
import { encodePng } from './png.ts';
import { drawSample } from './sample.ts';
import { writeWhole } from './whole-file.ts';

/** User requests that a running training handles. */
export type Requests = {
  /** Returns true once per request for a checkpoint. */
  readonly consumeSaveRequest: () => boolean;
  /** Call after each step. Draws samples if they were requested. */
  readonly sample: (step: SampleStep) => Promise<void>;
};

export type SampleStep = {
  readonly step: number;
  readonly endsEpoch: boolean;
  readonly classify: Network['classify'];
};

export type RequestsDeps = {
  /** Absolute path of the output folder. */
  readonly output: string;
  readonly test: LabelledImages;
  /** If true, also draws samples at the end of each epoch. */
  readonly everyEpoch: boolean;
  readonly consumeSaveRequest: () => boolean;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  /** Receives a new sample: its absolute path, and its path in the output folder with slashes. */
  readonly onSample: (path: string, key: string) => void;
};

/** A file with this name in the output folder requests samples. The trainer removes the file after writing the samples. */
const SAMPLE_REQUEST = 'sample.now';
const CHECK_EVERY_MS = 200;

export function createRequests(deps: RequestsDeps): Requests {
  const requestFile = join(deps.output, SAMPLE_REQUEST);
  let lastCheckMs = Number.NEGATIVE_INFINITY;

  const areSamplesRequested = async (endsEpoch: boolean): Promise<boolean> => {
    if (!endsEpoch && deps.now() - lastCheckMs < CHECK_EVERY_MS) return false;
    lastCheckMs = deps.now();
    return await isFile(requestFile);
  };

  const draw = async ({ step, classify }: SampleStep): Promise<void> => {
    const name = `sample-${String(step).padStart(6, '0')}.png`;
    const folder = join(deps.output, 'samples');
    try {
      await mkdir(folder, { recursive: true });
      await writeWhole(join(folder, name), [encodePng(drawSample(deps.test, classify))]);
    } catch (error) {
      // A failed sample must not end the training.
      return deps.printError(`digits: cannot write ${name}: ${systemErrorText(error)}`);
    }
    deps.print(`drew samples/${name}`);
    deps.onSample(join(folder, name), `samples/${name}`);
  };

  return {
    consumeSaveRequest: deps.consumeSaveRequest,
    sample: async step => {
      const isRequested = await areSamplesRequested(step.endsEpoch);
      if (isRequested || (step.endsEpoch && deps.everyEpoch)) await draw(step);
      if (isRequested) await rm(requestFile, { force: true });
    },
  };
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile();
  } catch {
    return false;
  }
}
