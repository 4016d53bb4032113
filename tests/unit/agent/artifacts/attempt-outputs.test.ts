import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  type AttemptOutputs,
  type AttemptOutputsDeps,
  createAttemptOutputs,
} from '../../../../agent/artifacts/attempt-outputs.ts';
import type { Clock } from '../../../../agent/clock.ts';
import type { Send } from '../../../../agent/connection/http-fetch.ts';
import { openNetwork, usualTrust } from '../../../../agent/connection/network.ts';
import { quickSilenceMs } from '../../../../agent/artifacts/storage.ts';
import { eventsName, imageEvent } from '../../../support/event-files.ts';
import { eventually } from '../../../support/notices.ts';
import { attemptId, offerOf, tempFolder } from '../builders.ts';
import { createInstantClock } from '../storage-server.ts';
import { type Bucket, openBucket } from '../bucket.ts';

const offer = offerOf('j1', 'a1', { upload_endpoint: '/store', upload_token: 'tu_1' });
const neverAborted = new AbortController().signal;

/** A clock whose pauses end immediately. Call timeouts never fire, because the test answers each call. */
function createOutputsClock(): Clock {
  const instantClock = createInstantClock(60_000);
  return {
    ...instantClock,
    after: (ms, run) => (ms === quickSilenceMs ? () => {} : instantClock.after(ms, run)),
  };
}

/** Opens the outputs of a rig. A second call with the same state folder acts as the next process of the agent. */
function openOutputs({ url }: Bucket, stateDir = tempFolder(), overrides: Partial<AttemptOutputsDeps> = {}) {
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  const send: Send = openNetwork(usualTrust);
  const folder = join(stateDir, 'outputs');
  const outputs: AttemptOutputs = createAttemptOutputs({
    url,
    send,
    renew: () => Promise.resolve(null),
    folder,
    imagesFolder: join(stateDir, 'images'),
    which: 'all',
    clock: createOutputsClock(),
    random: () => 0,
    wall: () => 0,
    log: () => {},
    signal: ended.signal,
    ...overrides,
  });
  /** The names of the files in which the agent stores unfinished attempts. */
  const storedAttempts = (): readonly string[] => (existsSync(folder) ? readdirSync(folder) : []);
  return { outputs, ended, folder, storedAttempts };
}

function outputDirWith(...names: readonly string[]): string {
  const root = join(tempFolder(), 'output');
  mkdirSync(root);
  for (const name of names) writeFileSync(join(root, name), name);
  return root;
}

/** A job whose trainer has written these files. */
const jobWith = (...names: readonly string[]) => ({
  outputDir: outputDirWith(...names),
  samplesAreFiles: false,
});

test('uploads all outputs of a completed attempt, and then forgets the attempt', async () => {
  const bucket = await openBucket();
  const { outputs, folder, storedAttempts } = openOutputs(bucket);
  void outputs.follow(offer, jobWith('a.png', 'ü (1).txt'));
  expect(storedAttempts()).toEqual(['a1.json']);
  expect([statSync(folder).mode & 0o777, statSync(join(folder, 'a1.json')).mode & 0o777]).toEqual([
    0o700, 0o600,
  ]);
  outputs.finish(attemptId('a1'), true);
  await outputs.leave(600_000, neverAborted);
  expect(bucket.files).toEqual(
    new Map([
      ['a.png', 'a.png'],
      ['ü (1).txt', 'ü (1).txt'],
    ]),
  );
  expect(bucket.tokens).toEqual(new Set(['tu_1']));
  await eventually('the attempt is forgotten', () => storedAttempts().length === 0);
});

test('uploads nothing after an attempt has ended without completing', async () => {
  const bucket = await openBucket();
  const { outputs, storedAttempts } = openOutputs(bucket);
  void outputs.follow(offer, jobWith('a.png'));
  outputs.finish(attemptId('a1'), false);
  await eventually('the attempt is forgotten', () => storedAttempts().length === 0);
  expect(bucket.files.size).toBe(0);
});

test('uploads the checkpoints of an attempt that will be retried, within the given time', async () => {
  const bucket = await openBucket();
  const { outputs, storedAttempts } = openOutputs(bucket);
  void outputs.follow(offer, jobWith('a.png', 'checkpoint-5.bin'));
  await outputs.rescue(attemptId('a1'), 600_000);
  expect([...bucket.files.keys()]).toEqual(['checkpoint-5.bin']);
  await eventually('the attempt is forgotten', () => storedAttempts().length === 0);
  bucket.isUnreachable = true;
  void outputs.follow({ ...offer, attempt_id: attemptId('a2') }, jobWith('checkpoint-6.bin'));
  await outputs.rescue(attemptId('a2'), 1_000);
  await outputs.rescue(attemptId('a3'), 600_000);
  await eventually('the attempt is forgotten', () => storedAttempts().length === 0);
});

test('uploads only the event files of an attempt that failed, with their folders', async () => {
  const bucket = await openBucket();
  const { outputs, storedAttempts } = openOutputs(bucket);
  const job = jobWith('a.png', 'checkpoint-5.bin');
  mkdirSync(join(job.outputDir, 'runs', 'Nov23'), { recursive: true });
  writeFileSync(join(job.outputDir, 'runs', 'Nov23', eventsName), 'events');
  void outputs.follow(offer, job);
  await outputs.rescue(attemptId('a1'), 600_000, 'stopped');
  expect([...bucket.files]).toEqual([[`runs/Nov23/${eventsName}`, 'events']]);
  await eventually('the attempt is forgotten', () => storedAttempts().length === 0);
});

test('uploads no event files of a failed attempt on a rig that uploads only checkpoints', async () => {
  const bucket = await openBucket();
  const { outputs, storedAttempts } = openOutputs(bucket, tempFolder(), { which: 'checkpoints' });
  void outputs.follow(offer, jobWith(eventsName));
  await outputs.rescue(attemptId('a1'), 600_000, 'stopped');
  await eventually('the attempt is forgotten', () => storedAttempts().length === 0);
  expect(bucket.files.size).toBe(0);
});

test('continues the uploads of ended and running attempts in the next agent process', async () => {
  const bucket = await openBucket();
  bucket.isUnreachable = true;
  const stateDir = tempFolder();
  const first = openOutputs(bucket, stateDir);
  void first.outputs.follow(offer, jobWith('ended.png'));
  void first.outputs.follow({ ...offer, attempt_id: attemptId('a2') }, jobWith('running.png'));
  first.outputs.finish(attemptId('a1'), true);
  first.ended.abort();
  const second = openOutputs(bucket, stateDir);
  expect(second.storedAttempts()).toEqual(['a1.json', 'a2.json']);
  writeFileSync(join(second.folder, 'a3.json'), 'half of it');
  bucket.isUnreachable = false;
  second.outputs.resume(attemptId('a2'));
  await eventually(
    'both attempts are uploaded',
    () => bucket.files.size === 2 && second.storedAttempts().join() === 'a2.json',
  );
  second.outputs.finish(attemptId('a2'), true);
  await second.outputs.leave(600_000, neverAborted);
  await eventually('the attempt is forgotten', () => second.storedAttempts().length === 0);
});

test('uploads and stores nothing with --upload none or without an upload token', async () => {
  const bucket = await openBucket();
  const { outputs, storedAttempts } = openOutputs(bucket, tempFolder(), { which: 'none' });
  void outputs.follow(offer, jobWith('a.png'));
  outputs.finish(attemptId('a1'), true);
  const withoutToken = openOutputs(bucket);
  void withoutToken.outputs.follow({ ...offer, upload_token: '' }, jobWith('a.png'));
  await outputs.leave(600_000, neverAborted);
  expect([...storedAttempts(), ...withoutToken.storedAttempts()]).toEqual([]);
  expect(bucket.files.size).toBe(0);
});

test('waits only for ended attempts when the agent leaves, and at most for the given time', async () => {
  const bucket = await openBucket();
  bucket.isUnreachable = true;
  const { outputs } = openOutputs(bucket);
  void outputs.follow(offer, jobWith('a.png'));
  await outputs.leave(600_000, neverAborted);
  outputs.finish(attemptId('a1'), true);
  await outputs.leave(1_000, neverAborted);
  const impatient = new AbortController();
  const leaving = outputs.leave(Number.POSITIVE_INFINITY, impatient.signal);
  impatient.abort();
  await leaving;
  expect(bucket.files.size).toBe(0);
});

test('uploads images of event files, also after an agent restart, and then removes the images', async () => {
  const bucket = await openBucket();
  const stateDir = tempFolder();
  const outputDir = outputDirWith();
  const earlier = imageEvent(1, 'a', Buffer.from('GIF89a 1'));
  writeFileSync(join(outputDir, eventsName), earlier);
  const first = openOutputs(bucket, stateDir);
  await first.outputs.follow(offer, { outputDir, samplesAreFiles: false });
  appendFileSync(join(outputDir, eventsName), imageEvent(2, 'a', Buffer.from('GIF89a 2')));
  await eventually('the image is uploaded', () => bucket.files.has('tensorboard-images/step_2_a_0.gif'));
  first.ended.abort();
  appendFileSync(join(outputDir, eventsName), imageEvent(3, 'a', Buffer.from('GIF89a 3')));
  const images = join(stateDir, 'images');
  mkdirSync(join(images, 'a9'));
  const second = openOutputs(bucket, stateDir);
  second.outputs.resume(null);
  await second.outputs.leave(600_000, neverAborted);
  expect([...bucket.files].filter(([key]) => key.startsWith('tensorboard-images/'))).toEqual([
    ['tensorboard-images/step_2_a_0.gif', 'GIF89a 2'],
    ['tensorboard-images/step_3_a_0.gif', 'GIF89a 3'],
  ]);
  await eventually(
    'all images are removed',
    () => readdirSync(images).length === 0 && second.storedAttempts().length === 0,
  );
});

test('extracts no images from event files when only checkpoints are uploaded', async () => {
  const bucket = await openBucket();
  const stateDir = tempFolder();
  const { outputs } = openOutputs(bucket, stateDir, { which: 'checkpoints' });
  const outputDir = outputDirWith('checkpoint-1.bin');
  await outputs.follow(offer, { outputDir, samplesAreFiles: false });
  writeFileSync(join(outputDir, eventsName), imageEvent(2, 'a', Buffer.from('GIF89a 2')));
  outputs.finish(attemptId('a1'), true);
  await outputs.leave(600_000, neverAborted);
  expect([...bucket.files.keys()]).toEqual(['checkpoint-1.bin']);
  expect(existsSync(join(stateDir, 'images'))).toBe(false);
});

test('extracts no images from event files when the trainer writes samples as files, also after a restart', async () => {
  const bucket = await openBucket();
  const stateDir = tempFolder();
  const outputDir = outputDirWith('sample.png');
  const first = openOutputs(bucket, stateDir);
  await first.outputs.follow(offer, { outputDir, samplesAreFiles: true });
  writeFileSync(join(outputDir, eventsName), imageEvent(2, 'a', Buffer.from('GIF89a 2')));
  await eventually('the sample is uploaded', () => bucket.files.has('sample.png'));
  first.ended.abort();
  const second = openOutputs(bucket, stateDir);
  second.outputs.resume(null);
  await second.outputs.leave(600_000, neverAborted);
  expect([...bucket.files.keys()].toSorted()).toEqual([eventsName, 'sample.png']);
});

/** Writes a checkpoint whose files were last changed at this time, in ms since 1970. */
function writeCheckpoint(root: string, name: string, changedAt: number): void {
  writeFileSync(join(root, name), name);
  utimesSync(join(root, name), changedAt / 1_000, changedAt / 1_000);
}

test('reports which checkpoints of an attempt are uploaded, and how long saving takes', async () => {
  const bucket = await openBucket();
  let now = 1_000_000_000;
  const { outputs } = openOutputs(bucket, tempFolder(), { wall: () => now });
  const job = jobWith('a.png');
  const id = attemptId('a1');
  writeCheckpoint(job.outputDir, 'checkpoint-1.bin', now - 60_000);
  await outputs.follow(offer, job);
  await eventually('the image is uploaded', () => bucket.files.has('a.png'));
  expect([outputs.saved(id), outputs.saveMs()]).toEqual(['none', null]);

  now += 100_000;
  writeCheckpoint(job.outputDir, 'checkpoint-2.bin', now - 30_000);
  await eventually('checkpoint 2 is saved', () => outputs.saved(id) === 'earlier');
  expect(outputs.saveMs()).toBe(30_000);

  // After this request to save and stop, only checkpoints are uploaded. Only later checkpoints count as newer.
  expect(outputs.hasten(id)).toBe(true);
  expect(outputs.hasten(attemptId('a0'))).toBe(false);
  writeFileSync(join(job.outputDir, 'b.png'), 'b');
  writeCheckpoint(job.outputDir, 'checkpoint-3.bin', now + 1_000);
  await eventually('checkpoint 3 is uploaded', () => bucket.files.has('checkpoint-3.bin'));
  // A checkpoint counts as saved when it has not changed for 5 s. Checkpoint 3 last changed 2 s ago here.
  now += 3_000;
  expect(outputs.saved(id)).toBe('earlier');
  now += 4_000;
  await eventually('checkpoint 3 is saved', () => outputs.saved(id) === 'newer');
  expect([outputs.saved(attemptId('a0')), bucket.files.has('b.png')]).toEqual(['none', false]);

  writeCheckpoint(job.outputDir, 'checkpoint-3.bin', now + 60_000);
  await eventually('the changed checkpoint 3 is not saved', () => outputs.saved(id) === 'earlier');
  await outputs.rescue(id, 60_000, 'killed');
  expect(outputs.saved(id)).not.toBe('none');
});

test('does not upload a checkpoint that a killed trainer may have been writing', async () => {
  const bucket = await openBucket();
  const { outputs, storedAttempts } = openOutputs(bucket);
  void outputs.follow(offer, jobWith('checkpoint-5.bin'));
  await outputs.rescue(attemptId('a1'), 600_000, 'killed');
  expect(bucket.files.size).toBe(0);
  expect(outputs.saved(attemptId('a1'))).toBe('none');
  await eventually('the attempt is forgotten', () => storedAttempts().length === 0);
});

test('counts the checkpoints of a running attempt as saved after an agent restart', async () => {
  const bucket = await openBucket();
  const stateDir = tempFolder();
  const now = Date.now();
  const first = openOutputs(bucket, stateDir, { wall: () => now });
  const job = jobWith();
  writeCheckpoint(job.outputDir, 'checkpoint-1.bin', now - 60_000);
  await first.outputs.follow(offer, job);
  first.ended.abort();
  writeCheckpoint(job.outputDir, 'checkpoint-2.bin', now + 10_000);
  const second = openOutputs(bucket, stateDir, { wall: () => now + 60_000 });
  second.outputs.resume(attemptId('a1'));
  await eventually('checkpoint 2 is saved', () => second.outputs.saved(attemptId('a1')) === 'earlier');
  expect(second.outputs.saveMs()).toBeNull();
});
