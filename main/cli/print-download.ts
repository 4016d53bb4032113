import type { Call } from '../../protocol/call.ts';
import { type CallInput, urlOf } from '../../protocol/client.ts';
import { Problem } from '../../protocol/problem.ts';
import { textsOf } from './body-text.ts';
import { exitCodes, fail, failureOf } from './failure.ts';
import type { Remote } from './remote.ts';

/** Prints an answer that comes in pieces, as it comes; what fails ends the command. */
export async function printDownload<C extends Call>(
  { connection, fetch, terminal }: Pick<Remote, 'connection' | 'fetch' | 'terminal'>,
  row: C,
  { params, query }: Pick<CallInput<C>, 'params' | 'query'>,
): Promise<void> {
  const { url, token } = connection();
  const unreachable = (cause: unknown): never => {
    const { code, message } = failureOf({ kind: 'unreachable', cause }, url);
    return fail(code, message);
  };
  const response = await fetch(urlOf(url, row.path, params ?? {}, query ?? {}), {
    headers: { authorization: `Bearer ${token}` },
    redirect: 'error',
  }).catch(unreachable);
  if (!response.ok || response.body === null) {
    const problem = Problem.safeParse(await response.json().catch(() => null));
    const { status } = response;
    const failure = problem.success
      ? ({ kind: 'problem', status, problem: problem.data } as const)
      : ({ kind: 'unexpected', status, detail: `${url} answered ${status}` } as const);
    const { code, message } = failureOf(failure, url);
    return fail(code, message);
  }
  try {
    for await (const text of textsOf(response.body)) terminal.out(text);
  } catch {
    fail(exitCodes.unreachable, 'The way to the orchestrator broke: what was printed is not all of it');
  }
}
