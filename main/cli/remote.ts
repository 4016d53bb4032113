import type { Call } from '../../protocol/call.ts';
import {
  type CallFailure,
  type CallInput,
  type CallResult,
  createClient,
  type Send,
  type ValueOf,
} from '../../protocol/client.ts';
import type { Flags } from '../config.ts';
import { type Connection, findConnection, findNetwork, tokenFetch } from './connection.ts';
import { CommandEnd, exitCodes, fail, failureOf } from './failure.ts';
import { isOn } from './flags.ts';
import type { CliTerminal, Invocation } from './invocation.ts';

/** The orchestrator that a command calls. Failures end the command with a message and an exit code. */
export interface Remote {
  readonly flags: Flags;
  readonly terminal: CliTerminal;
  readonly env: Invocation['env'];
  readonly connection: () => Connection;
  /** Sends a request whose response is not a single JSON value. */
  readonly fetch: Send;
  /** Reads the local orchestrator's address again, because it may change at a restart. */
  locate(): void;
  /** Calls the API and returns the value of the response. */
  request<C extends Call>(row: C, input?: CallInput<C>): Promise<ValueOf<C>>;
  /** Like `request`, but returns a failure instead of ending the command. */
  call<C extends Call>(row: C, input?: CallInput<C>): Promise<CallResult<C>>;
  /** Asks the user, and ends the command unless they agree. With `--yes` or without a terminal, continues without asking. */
  confirm(question: string): Promise<void>;
}

const defaultTimeoutMs = 30_000;

/** Finds the orchestrator. Throws `CommandEnd` if flags, environment, config file and data folder contain no URL or no token. */
export function openRemote(
  flags: Flags,
  { env, terminal }: Pick<Invocation, 'env' | 'terminal'>,
  timeoutMs = defaultTimeoutMs,
): Remote {
  const first = findConnection(flags, env);
  if (!first.ok) throw new CommandEnd(first.failure);
  const network = findNetwork(flags, env);
  if (!network.ok) throw new CommandEnd(network.failure);
  let connection = first.value;
  const fetch: Send = (url, init) => tokenFetch(connection, network.value)(url, init);
  const call = <C extends Call>(row: C, input?: CallInput<C>): Promise<CallResult<C>> => {
    const { url, token } = connection;
    const headers = { authorization: `Bearer ${token}` };
    return createClient({ baseUrl: url, headers: () => headers, timeoutMs, fetch }).call(row, input);
  };
  return {
    flags,
    terminal,
    env,
    connection: () => connection,
    fetch,
    call,
    locate() {
      const again = findConnection(flags, env);
      if (again.ok) connection = again.value;
    },
    async request(row, input) {
      const { url } = connection;
      const result = await call(row, input);
      if (result.ok) return result.value;
      const { code, message } = failureOf(result.failure, url);
      const warning =
        row.method === 'GET' || !isUncertain(result.failure) ? '' : uncertainText(isKeyed(input?.body));
      return fail(code, message + warning);
    },
    async confirm(question) {
      if (isOn(flags, 'yes') || terminal.ask === null) return;
      const answer = await terminal.ask(`${question} [y/N] `);
      if (!/^y(es)?$/i.test(answer?.trim() ?? '')) fail(exitCodes.failed, 'Cancelled: nothing was changed');
    },
  };
}

/** Codes of errors after which the server has changed nothing: it was not reached, is the wrong one, or only redirected. */
const nothingChanged =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|ERR_NOT_PROVEN|ERR_(PIN|SSL|TLS)_\w+|CERT_\w+|\w*SELF_SIGNED_CERT\w*|UNABLE_TO_\w+|ERR_REDIRECTED)$/;

/** Returns true if the server may have made the change although the response was lost. */
function isUncertain(failure: CallFailure): boolean {
  if (failure.kind !== 'unreachable') return false;
  for (let error = failure.cause; error instanceof Error; error = error.cause) {
    if ('code' in error && nothingChanged.test(String(error.code))) return false;
  }
  return true;
}

/** Returns true for a request with an idempotency key. The server applies it only once, even if it is repeated. */
const isKeyed = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  'idempotency_key' in body &&
  body.idempotency_key !== undefined;

const uncertainText = (hasKey: boolean): string =>
  `.\nThe change may have been made. ${hasKey ? 'Run the command again with the same key' : 'Check before you run the command again'}`;
