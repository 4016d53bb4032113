import { lstat, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemErrorText } from './checked.ts';
import type { LabelledImages } from './dataset.ts';
import type { Network } from './network.ts';
import { encodePng } from './png.ts';
import { drawSample } from './sample.ts';
import { writeWhole } from './whole-file.ts';

/** Requests that a running training handles. */
export type Requests = {
  /** Returns true once per request for a checkpoint. */
  readonly takeSave: () => boolean;
  /** Call after each step; draws samples on request. */
  readonly sample: (step: SampleStep) => Promise<void>;
};

export type SampleStep = {
  readonly step: number;
  readonly endsEpoch: boolean;
  readonly classify: Network['classify'];
};

export type RequestsDeps = {
  /** Absolute path. */
  readonly output: string;
  readonly test: LabelledImages;
  /** Also draw samples at the end of each epoch. */
  readonly everyEpoch: boolean;
  readonly takeSave: () => boolean;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
  /** Receives a new sample: its absolute path, and its path in the output folder with slashes. */
  readonly onSample: (path: string, key: string) => void;
};

/** An empty file with this name in the output folder requests samples. The trainer removes it when they are written. */
const SAMPLE_REQUEST = 'sample.now';
const LOOK_EVERY_MS = 200;

export function createRequests(parts: RequestsDeps): Requests {
  const request = join(parts.output, SAMPLE_REQUEST);
  let lookedMs = Number.NEGATIVE_INFINITY;

  const isAsked = async (endsEpoch: boolean): Promise<boolean> => {
    if (!endsEpoch && parts.now() - lookedMs < LOOK_EVERY_MS) return false;
    lookedMs = parts.now();
    return await isFile(request);
  };

  const draw = async ({ step, classify }: SampleStep): Promise<void> => {
    const name = `sample-${String(step).padStart(6, '0')}.png`;
    const folder = join(parts.output, 'samples');
    try {
      await mkdir(folder, { recursive: true });
      await writeWhole(join(folder, name), [encodePng(drawSample(parts.test, classify))]);
    } catch (error) {
      // A failed sample must not end the training.
      return parts.complain(`digits: cannot write ${name}: ${systemErrorText(error)}`);
    }
    parts.print(`drew samples/${name}`);
    parts.onSample(join(folder, name), `samples/${name}`);
  };

  return {
    takeSave: parts.takeSave,
    sample: async step => {
      const asked = await isAsked(step.endsEpoch);
      if (asked || (step.endsEpoch && parts.everyEpoch)) await draw(step);
      if (asked) await rm(request, { force: true });
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
