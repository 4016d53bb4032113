import { readFile } from 'node:fs/promises';
import type { ChannelTarget } from '../../protocol/notification.ts';
import { accept, refuse } from '../../protocol/problem.ts';
import type { Artifact, ArtifactFiles, Clock, Courier, DeliveryAnswer } from '../orchestrator/ports/index.ts';
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

export interface CourierDeps {
  readonly clock: Pick<Clock, 'wall' | 'iso'>;
  readonly files: Pick<ArtifactFiles, 'pathOf' | 'freeBytes'>;
  readonly reserveBytes: number;
  /** Hosts that may have any address, and need no TLS. In lower case. */
  readonly allowed: readonly string[];
  /** Returns the address of the panel. */
  readonly address: () => string;
  readonly resolve?: Resolve;
}

/** The only code that sends notifications. */
export function createCourier(deps: CourierDeps): Courier {
  const { clock, files, reserveBytes, allowed, resolve = resolveName } = deps;
  return {
    async check(target) {
      const found = await findDestination(target, allowed, resolve);
      return found.kind === 'forbidden' ? refuse('invalid_request', found.why) : accept(null);
    },
    async deliver(target, delivery, artifact) {
      const found = await findDestination(target, allowed, resolve);
      if (found.kind === 'forbidden') return { kind: 'permanent', detail: found.why };
      if (found.kind === 'unknown') return { kind: 'temporary', detail: found.why, retryAfterMs: null };
      const letter: Letter = {
        delivery,
        link: deps.address().replace(/\/$/, '') + delivery.notification.page,
        sample: artifact === null || !takesSample(target) ? null : await readSample(files, artifact),
        createdAt: clock.iso(delivery.createdAt),
        sentAt: Math.floor(clock.wall() / 1_000),
      };
      const answer = await send(target, letter, found.addresses, clock.wall);
      // Some receivers refuse attachments, and the message matters more.
      return answer.kind === 'permanent' && letter.sample !== null
        ? send(target, { ...letter, sample: null }, found.addresses, clock.wall)
        : answer;
    },
    disk: async () => ({ free: await files.freeBytes(), reserve: reserveBytes }),
  };
}

const takesSample = ({ kind }: ChannelTarget): boolean =>
  kind === 'discord' || kind === 'ntfy' || kind === 'email';

async function send(
  target: ChannelTarget,
  letter: Letter,
  addresses: readonly Address[],
  now: () => number,
): Promise<DeliveryAnswer> {
  try {
    return target.kind === 'email'
      ? await sendEmail(target, letter, addresses)
      : await post(requestFor(target, letter), addresses, now);
  } catch (cause) {
    // For example, a header that Node refuses. A retry would fail in the same way.
    return {
      kind: 'permanent',
      detail: `it could not be sent (${cause instanceof Error ? cause.name : 'unknown'})`,
    };
  }
}

function requestFor(target: Exclude<ChannelTarget, { kind: 'email' }>, letter: Letter): HttpRequest {
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

/** Reads an image under a plain name. Returns null for other types, and when the file was removed meanwhile. */
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
