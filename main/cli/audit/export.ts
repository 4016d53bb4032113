import { auditApi } from '../../../protocol/admin-api.ts';
import { urlOf } from '../../../protocol/client.ts';
import { Problem } from '../../../protocol/problem.ts';
import { textsOf } from '../body-text.ts';
import { exitCodes, fail, failureOf } from '../failure.ts';
import { readInput } from '../input.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { sieveFlags, sieveOf, withSieve } from './sieve.ts';

export const exportAll: RemoteSpec = {
  name: 'export',
  description: 'Print all entries, oldest first, one line of JSON each',
  shape: withSieve,
  async act({ flags, connection, fetch, terminal }) {
    const query = readInput(auditApi.export.query, sieveOf(flags), sieveFlags);
    const { url, token } = connection();
    const unreachable = (cause: unknown): never => {
      const { code, message } = failureOf({ kind: 'unreachable', cause }, url);
      return fail(code, message);
    };
    const response = await fetch(urlOf(url, auditApi.export.path, {}, query), {
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
  },
};
