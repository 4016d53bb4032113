import type { Call } from '../../protocol/call.ts';
import { type Answer, type AnswerBody, type CallInput, type Fetch, urlOf } from '../../protocol/client.ts';
import { Problem } from '../../protocol/problem.ts';
import { textsOf } from './event-feed.ts';
import { exitCodes, fail, failureOf } from './failure.ts';
import type { Remote } from './remote.ts';

type DownloadSource = Pick<Remote, 'connection'> & { readonly fetch: Fetch };

/** Prints a streamed response as it arrives; failures end the command. */
export async function printDownload<C extends Call>(
  { connection, fetch, terminal }: DownloadSource & Pick<Remote, 'terminal'>,
  row: C,
  { params, query }: Pick<CallInput<C>, 'params' | 'query'>,
): Promise<void> {
  const { url } = connection();
  const { body } = await openDownload({ connection, fetch }, urlOf(url, row.path, params ?? {}, query ?? {}));
  try {
    for await (const text of textsOf(body)) terminal.out(text);
  } catch {
    fail(exitCodes.unreachable, 'Lost the connection to the orchestrator. The output is incomplete');
  }
}

export interface Download extends Pick<Answer, 'status' | 'headers'> {
  readonly body: AnswerBody;
}

/** Opens a streamed response; failures end the command. */
export async function openDownload(
  { connection, fetch }: DownloadSource,
  address: URL,
  { headers = {}, signal }: Pick<CallInput<Call>, 'headers' | 'signal'> = {},
): Promise<Download> {
  const { url, token } = connection();
  const unreachable = (cause: unknown): never => {
    const { code, message } = failureOf({ kind: 'unreachable', cause }, url);
    return fail(code, message);
  };
  const response = await fetch(address, {
    headers: { ...headers, authorization: `Bearer ${token}` },
    redirect: 'error',
    ...(signal !== undefined && { signal }),
  }).catch(unreachable);
  const { body, status } = response;
  if (response.ok && body !== null) return { status, headers: response.headers, body };
  const problem = Problem.safeParse(await response.json().catch(() => null));
  const failure = problem.success
    ? ({ kind: 'problem', status, problem: problem.data } as const)
    : ({ kind: 'unexpected', status, detail: `${url} answered ${status}` } as const);
  const { code, message } = failureOf(failure, url);
  return fail(code, message);
}
