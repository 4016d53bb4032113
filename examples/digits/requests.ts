import { lstat, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemErrorText } from './checked.ts';
import type { LabelledImages } from './dataset.ts';
import type { Network } from './network.ts';
import { encodePng } from './png.ts';
import { drawSample } from './sample.ts';
import { writeWhole } from './whole-file.ts';

/** What is asked of a training while it runs. */
export type Requests = {
  /** Whether somebody wants a checkpoint of this step; a wish is answered with yes once. */
  readonly takeSave: () => boolean;
  /** After each step: draws samples when they are wanted. */
  readonly sample: (step: SampleStep) => Promise<void>;
};

export type SampleStep = {
  readonly step: number;
  readonly endsEpoch: boolean;
  readonly classify: Network['classify'];
};

export type RequestsParts = {
  /** Absolute. */
  readonly output: string;
  readonly test: LabelledImages;
  /** At the end of each epoch, too. */
  readonly everyEpoch: boolean;
  readonly takeSave: () => boolean;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
  /** A sample is there: its path, and its path in the output folder, with slashes. */
  readonly onSample: (path: string, key: string) => void;
};

/** An empty file with this name in the output folder asks for samples; it is removed when they are there. */
const SAMPLE_REQUEST = 'sample.now';
const LOOK_EVERY_MS = 200;

export function createRequests(parts: RequestsParts): Requests {
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
      // The training is worth more than its pictures.
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
