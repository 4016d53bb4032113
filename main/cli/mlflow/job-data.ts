import type { JobDetail } from '../../../protocol/job.ts';
import { metricsApi } from '../../../protocol/metrics-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, failureOf, fail } from '../failure.ts';
import type { Remote } from '../remote.ts';
import type { Curves } from './metrics.ts';
import { type Pair, toParams } from './params.ts';

/** Number of points per curve to request. The orchestrator stores only about 2,000, so replies have the full resolution. */
const maxPoints = 5_000;
/**
 * Number of curves per request. A reply has at most 100,000 points; for more, the server would reduce the resolution of the
 * curves.
 */
const curvesPerRequest = 4;

/** Returns the config of a job as params; null when the token may not see the config. */
export async function readParams(remote: Remote, id: JobDetail['id']): Promise<readonly Pair[] | null> {
  const answer = await remote.call(queueApi.config, { params: { id } });
  if (answer.ok) return toParams(answer.value.config, answer.value.dataloader);
  const { code, message } = failureOf(answer.failure, remote.connection().url);
  return code === exitCodes.denied ? null : fail(code, message);
}

/** Reads the curves of a job in their full resolution. `onRead` gets the share that was read, 0 to 1. */
export async function readCurves(
  remote: Remote,
  id: JobDetail['id'],
  onRead: (share: number) => void,
): Promise<Curves> {
  const { keys } = await remote.request(metricsApi.read, { params: { id }, query: { points: 1 } });
  const names = keys.map(({ key }) => key);
  const all: Curves[number][] = [];
  for (let at = 0; at < names.length; at += curvesPerRequest) {
    const query = { keys: names.slice(at, at + curvesPerRequest).join(','), points: maxPoints };
    const { attempts } = await remote.request(metricsApi.read, { params: { id }, query });
    all.push(...attempts);
    onRead(Math.min(1, (at + curvesPerRequest) / names.length));
  }
  return all.toSorted((a, b) => a.attempt - b.attempt);
}
