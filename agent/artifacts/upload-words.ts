import { describeFailure } from '../files/failure-text.ts';
import type { Failure } from '../retry/decisions.ts';
import { sizeInWords } from './checkpoint-fetch.ts';

const noServer = {
  what: 'could not deliver',
  remedy: 'check that the server runs, and that the proxy reaches it',
} as const;
const tooSlow = { what: 'ran out of time for', remedy: 'raise its timeouts' } as const;
const other = { what: 'refused', remedy: 'look at its configuration and its log' } as const;

const proxyAnswers: ReadonlyMap<number, { readonly what: string; readonly remedy: string }> = new Map([
  [408, tooSlow],
  [413, { what: 'refused', remedy: 'raise its body size limit' }],
  [502, noServer],
  [503, noServer],
  [504, tooSlow],
]);

/**
 * Returns why the upload of a body of this size failed, as text for people. The server refuses an upload with a problem, so any
 * other response is a proxy's own. The text leaves out the proxy's HTML page.
 */
export function describeUploadFailure(failure: Failure, bytes: number): string {
  if (failure.kind !== 'unexpected') return describeFailure(failure);
  const { what, remedy } = proxyAnswers.get(failure.status) ?? other;
  const upload = `an upload of ${sizeInWords(bytes)} (${failure.status})`;
  return `A proxy between this worker and the server ${what} ${upload}: ${remedy} (docs/network.md)`;
}
