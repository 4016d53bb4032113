import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { accept, refuse } from '../../protocol/problem.ts';
import type {
  Artifact,
  ArtifactFiles,
  Clock,
  Courier,
  DeliveryAnswer,
  PushKeys,
  StoredTarget,
} from '../orchestrator/ports/index.ts';
import { type Address, findDestination, type Resolve, resolveName } from './destination.ts';
import { sendEmail } from './email.ts';
import {
  discordRequest,
  type HttpRequest,
  type Letter,
  ntfyRequest,
  type Sample,
  slackRequest,
  webhookRequest,
} from './payloads.ts';
import { post } from './post.ts';
import { answerOfPushService, createPushKeys, isPushKey, webPushRequest } from './web-push.ts';

export interface CourierDeps {
  readonly clock: Pick<Clock, 'wall' | 'iso'>;
  readonly files: Pick<ArtifactFiles, 'pathOf' | 'freeBytes'>;
  readonly reserveBytes: number;
  /** Hosts that may have any address, and need no TLS. In lower case. */
  readonly allowed: readonly string[];
  /** Returns the address of the panel. */
  readonly address: () => string;
  /** Returns the keys of web push; null before a browser has requested them. */
  readonly pushKeys: () => PushKeys | null;
  readonly resolve?: Resolve;
}

/** Creates the courier, the only code that sends notifications. */
export function createCourier(deps: CourierDeps): Courier {
  const { clock, files, reserveBytes, allowed, resolve = resolveName } = deps;
  return {
    async check(target) {
      if (target.kind === 'webpush' && !isPushKey(target.p256dh))
        return refuse('invalid_request', 'keys.p256dh: expected a point of the curve P-256');
      const destination = await findDestination(target, allowed, resolve);
      return destination.kind === 'forbidden' ? refuse('invalid_request', destination.why) : accept(null);
    },
    async deliver(target, delivery, artifact) {
      const destination = await findDestination(target, allowed, resolve);
      if (destination.kind === 'forbidden') return { kind: 'permanent', detail: destination.why };
      if (destination.kind === 'unknown')
        return { kind: 'temporary', detail: destination.why, retryAfterMs: null };
      const letter: Letter = {
        delivery,
        link: deps.address().replace(/\/$/, '') + delivery.notification.page,
        sample: artifact === null || !takesSample(target) ? null : await readSample(files, artifact),
        createdAt: clock.iso(delivery.createdAt),
        sentAt: Math.floor(clock.wall() / 1_000),
      };
      const sendTo = (message: Letter): Promise<DeliveryAnswer> =>
        send(target, message, destination.addresses, deps);
      const answer = await sendTo(letter);
      // Some receivers refuse attachments, and the message matters more.
      return answer.kind === 'permanent' && letter.sample !== null
        ? sendTo({ ...letter, sample: null })
        : answer;
    },
    createPushKeys,
    fingerprint: url => hash('sha256', url),
    disk: async () => ({ free: await files.freeBytes(), reserve: reserveBytes }),
  };
}

const takesSample = ({ kind }: StoredTarget): boolean =>
  kind === 'discord' || kind === 'ntfy' || kind === 'email';

async function send(
  target: StoredTarget,
  letter: Letter,
  addresses: readonly Address[],
  { clock, pushKeys }: Pick<CourierDeps, 'clock' | 'pushKeys'>,
): Promise<DeliveryAnswer> {
  try {
    if (target.kind === 'email') return await sendEmail(target, letter, addresses);
    if (target.kind !== 'webpush') return await post(requestFor(target, letter), addresses, clock.wall);
    const keys = pushKeys();
    if (keys === null) return { kind: 'permanent', detail: 'the server has no key for web push' };
    return answerOfPushService(await post(webPushRequest(target, letter, keys), addresses, clock.wall));
  } catch (cause) {
    // Sending throws, for example, when Node refuses a header. A retry would fail in the same way.
    return {
      kind: 'permanent',
      detail: `it could not be sent (${cause instanceof Error ? cause.name : 'unknown'})`,
    };
  }
}

function requestFor(
  target: Exclude<StoredTarget, { kind: 'email' | 'webpush' }>,
  letter: Letter,
): HttpRequest {
  switch (target.kind) {
    case 'webhook':
      return webhookRequest(target, letter);
    case 'discord':
      return discordRequest(target, letter);
    case 'slack':
      return slackRequest(target, letter);
    case 'ntfy':
      return ntfyRequest(target, letter);
  }
}

const imageTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
};

/** Reads an image under a plain name. Returns null for other types, or when the file was removed. */
async function readSample(
  files: CourierDeps['files'],
  { jobId, file, key }: Artifact,
): Promise<Sample | null> {
  const extension = key.split('.').at(-1)?.toLowerCase() ?? '';
  const type = imageTypes[extension];
  if (type === undefined) return null;
  try {
    return { name: `sample.${extension}`, type, bytes: await readFile(files.pathOf(jobId, file)) };
  } catch {
    return null;
  }
}
