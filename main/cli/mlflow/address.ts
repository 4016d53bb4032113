import { openNetwork, usualTrust } from '../../../agent/connection/network.ts';
import type { Send } from '../../../protocol/client.ts';
import { isLoopbackLink } from '../../../protocol/run-link.ts';
import { exitCodes, fail, reasonOf } from '../failure.ts';
import type { Invocation } from '../invocation.ts';

/** The address of a tracking server, and how to call it. */
export interface TrackingServer {
  /** Without a slash at the end. */
  readonly url: string;
  /** Value of the Authorization header; null for none. */
  readonly authorization: string | null;
  readonly send: Send;
}

type Env = Invocation['env'];

/** Finds the tracking server from `--tracking-uri` or MLflow's environment variables. Ends the command when that fails. */
export function findTrackingServer(
  flag: string | null,
  env: Env,
  warn: (text: string) => void,
): TrackingServer {
  const address = flag ?? env['MLFLOW_TRACKING_URI'] ?? '';
  if (address === '') fail(exitCodes.usage, 'Give the address of the tracking server with --tracking-uri');
  const url = parseAddress(address);
  const authorization = authorizationFrom(env);
  if (authorization !== null && url.startsWith('http:') && !isLoopbackLink({ kind: '', url }))
    warn('Warning: the credentials for MLflow travel unencrypted, because its address starts with http:\n');
  return { url, authorization, send: networkTo(env) };
}

function parseAddress(address: string): string {
  const parsed = URL.canParse(address) ? new URL(address) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    return fail(
      exitCodes.usage,
      'The tracking server must have an address such as https://mlflow.example.com. Folders, databases and "databricks" are not supported',
    );
  if (parsed.username !== '' || parsed.password !== '')
    return fail(
      exitCodes.usage,
      'Other users can see a password in the address. Use the variables MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD',
    );
  return `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '');
}

/** Returns the Authorization header; null without credentials. As in MLflow's client, a password precedes a token. */
function authorizationFrom(env: Env): string | null {
  const {
    MLFLOW_TRACKING_USERNAME: user,
    MLFLOW_TRACKING_PASSWORD: password,
    MLFLOW_TRACKING_TOKEN: token,
  } = env;
  if (user && password) return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  if (!token) return null;
  // Reject other characters here: they would end the header, or cause an error that shows the token.
  if (!/^[\x21-\x7e]+$/.test(token))
    return fail(exitCodes.usage, 'MLFLOW_TRACKING_TOKEN contains a character that a token cannot have');
  return `Bearer ${token}`;
}

function networkTo(env: Env): Send {
  const { MLFLOW_TRACKING_SERVER_CERT_PATH: certificatePath = '' } = env;
  const caFile = certificatePath === '' ? null : certificatePath;
  try {
    return openNetwork({ ...usualTrust, caFile });
  } catch (cause) {
    return fail(exitCodes.usage, `MLFLOW_TRACKING_SERVER_CERT_PATH ${caFile}: ${reasonOf(cause)}`);
  }
}
