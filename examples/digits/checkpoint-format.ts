import { createHash } from 'node:crypto';
import { accepted, type Checked, refused } from './checked.ts';

/** The settings that a run and its checkpoint must share, so that the run continues as if it had never stopped. */
export type RunIdentity = Readonly<Record<string, number>>;

/**
 * All data that a run needs to continue with identical results. A checkpoint contains no random state: the seed and the epoch
 * determine the order of an epoch's images (random.ts), and the step determines the epoch.
 */
export type Checkpoint = {
  readonly identity: RunIdentity;
  /** Number of completed steps. */
  readonly step: number;
  /** The running mean of the loss; undefined before the first step. */
  readonly runningLoss: number | undefined;
  /** Training time so far in seconds, over all attempts. */
  readonly trainSeconds: number;
  readonly parameters: Float32Array;
  /** The optimizer's momentum, one value per parameter. */
  readonly velocity: Float32Array;
};

// File layout: a line with name and version, a line of JSON (Header), parameters and velocity as float32, and the SHA-256 of
// all bytes before it. Numbers use the machine's byte order, which is little-endian on all supported platforms.
const NAME = 'digits-checkpoint';
const FORMAT_VERSION = 1;
const FIRST_LINE = new RegExp(`^${NAME} (\\d{1,9})\n`);
const MAX_FIRST_LINE = 32;
const DIGEST_BYTES = 32;
const NEWLINE = 0x0a;

type Header = {
  readonly identity: RunIdentity;
  readonly step: number;
  readonly running_loss: number | null;
  readonly train_seconds: number;
};

export function encodeCheckpoint(checkpoint: Checkpoint): Buffer {
  const header: Header = {
    identity: checkpoint.identity,
    step: checkpoint.step,
    running_loss: checkpoint.runningLoss ?? null,
    train_seconds: checkpoint.trainSeconds,
  };
  const body = Buffer.concat([
    Buffer.from(`${NAME} ${FORMAT_VERSION}\n${JSON.stringify(header)}\n`),
    bytesOf(checkpoint.parameters),
    bytesOf(checkpoint.velocity),
  ]);
  return Buffer.concat([body, digestOf(body)]);
}

/**
 * Decodes a checkpoint for a run with this identity and `parameterCount` parameters. Refuses a file that is not a checkpoint, is
 * damaged, has another format version, or is from a run with other settings.
 */
export function decodeCheckpoint(
  bytes: Buffer,
  expected: RunIdentity,
  parameterCount: number,
): Checked<Checkpoint> {
  const firstLine = FIRST_LINE.exec(bytes.toString('latin1', 0, MAX_FIRST_LINE));
  if (firstLine === null) return refused('is not a checkpoint of this trainer');
  const [{ length: headerStart }, version] = firstLine;
  if (Number(version) !== FORMAT_VERSION) {
    return refused(`has format version ${version}, and this trainer reads version ${FORMAT_VERSION}`);
  }
  const body = bytes.subarray(0, Math.max(0, bytes.length - DIGEST_BYTES));
  if (!digestOf(body).equals(bytes.subarray(body.length))) {
    return refused('is damaged or incomplete (its checksum is wrong); use an older one');
  }
  const headerEnd = body.indexOf(NEWLINE, headerStart);
  const header = parseHeader(body.toString('utf8', headerStart, headerEnd));
  if (header === undefined) return refused('has a header that this trainer cannot read');
  const difference = describeDifference(header.identity, expected);
  if (difference !== undefined) return refused(`belongs to another run: ${difference}`);
  const numbers = body.subarray(headerEnd + 1);
  if (numbers.length !== 2 * parameterCount * Float32Array.BYTES_PER_ELEMENT) {
    return refused(
      `contains ${numbers.length} bytes of weights, which does not match ${parameterCount} parameters`,
    );
  }
  // Copy the bytes, because a Float32Array must start at a multiple of four bytes.
  const floats = new Float32Array(new Uint8Array(numbers).buffer);
  return accepted({
    identity: header.identity,
    step: header.step,
    runningLoss: header.running_loss ?? undefined,
    trainSeconds: header.train_seconds,
    parameters: floats.subarray(0, parameterCount),
    velocity: floats.subarray(parameterCount),
  });
}

function parseHeader(text: string): Header | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const fields = fieldsOf(value);
  const step = fields.get('step');
  const loss = fields.get('running_loss');
  const seconds = fields.get('train_seconds');
  if (typeof step !== 'number' || typeof seconds !== 'number') return undefined;
  const identity: Record<string, number> = {};
  for (const [key, number] of fieldsOf(fields.get('identity'))) {
    if (typeof number === 'number') identity[key] = number;
  }
  return {
    identity,
    step,
    running_loss: typeof loss === 'number' ? loss : null,
    train_seconds: seconds,
  };
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}

function describeDifference(actual: RunIdentity, expected: RunIdentity): string | undefined {
  for (const [key, value] of Object.entries(expected)) {
    if (actual[key] !== value) return `its ${key} is ${actual[key]}, but this run has ${value}`;
  }
  return undefined;
}

function bytesOf(numbers: Float32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

function digestOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
