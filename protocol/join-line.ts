/** The settings with which a machine joins as a worker. */
export interface Joining {
  /** URL of the orchestrator. */
  readonly url: string;
  /** `sha256:...` pin of the server key, for a certificate that no trusted authority has signed. */
  readonly pin: string | null;
  /** A join token, or the worker's own token. */
  readonly token: string;
  readonly name: string;
  readonly persistent: boolean;
}

/** Options for running the orchestrator's install script. */
export interface ScriptRun {
  /** SHA-256 of the script in lower-case hex. */
  readonly sha256: string;
  /** Arguments, quoted for the shell. */
  readonly args: string;
  /** A token to pass on standard input. */
  readonly token?: string;
  readonly asRoot?: boolean;
  /** Whether the script replaces the shell (`exec`), so that signals to the shell's process reach the worker. */
  readonly inPlace?: boolean;
}

/**
 * Returns a command line for any POSIX shell, bash and zsh. It downloads the install script, and runs it only if the hash
 * matches. It passes the token with `printf`, a shell builtin, so the token never appears in a process list.
 */
export function scriptLine(
  at: Pick<Joining, 'url' | 'pin'>,
  { sha256, args, token, asRoot, inPlace }: ScriptRun,
): string {
  const hash = 'printf \'%s\\n\' "$s" | { sha256sum 2>/dev/null || shasum -a 256; }';
  const tokenPipe = token === undefined ? '' : `printf '%s\\n' ${shellWord(token)} | `;
  const exec = inPlace === true ? 'exec ' : '';
  const sudo = asRoot === true ? 'sudo ' : '';
  const start = `${tokenPipe}${exec}${sudo}sh -c "$s" trainyard ${args}`;
  const refuse = "echo 'The install script does not match this command: nothing was done' >&2; false";
  const line =
    `s=$(curl -fsS${curlTrust(at)} ${shellWord(`${at.url}/agent/install.sh`)}) && ` +
    `case $(${hash}) in ${sha256}*) ${start};; *) ${refuse};; esac`;
  return inPlace === true ? line : `(${line})`;
}

/** Path of the script that already contains the address and the pin of its server. */
export const joinPath = '/join';

/** Options for running the join script of a server. */
export type PipedRun = Pick<ScriptRun, 'args' | 'token' | 'asRoot'>;

/**
 * Returns a short command line for any POSIX shell. curl verifies the server: by its pin, or by its certificate. If that fails,
 * the shell gets an empty script. The token is in the environment of the shell only, so it is in no argument, and curl does not
 * get it.
 */
export function pipedLine(at: Pick<Joining, 'url' | 'pin'>, { args, token, asRoot }: PipedRun): string {
  const environment = token === undefined ? '' : `JOIN_TOKEN=${shellWord(token)} `;
  const preserved = token === undefined ? '' : '--preserve-env=JOIN_TOKEN ';
  const sudo = asRoot === true ? `sudo ${preserved}` : '';
  const shell = args === '' ? 'sh' : `sh -s -- ${args}`;
  return `curl -fsS${curlTrust(at)} ${shellWord(at.url + joinPath)} | ${environment}${sudo}${shell}`;
}

/** Returns true if curl can verify the server at this URL. */
export const isVerifiable = (url: string): boolean => url.startsWith('https://');

/** Returns the short command line that installs and starts a worker; null over plain HTTP. */
export const shortLine = (joining: Joining): string | null =>
  isVerifiable(joining.url)
    ? pipedLine(joining, { args: ownArguments(joining), token: joining.token })
    : null;

/**
 * Returns the command line that installs and starts a worker, and verifies the install script by its hash. Servers of all
 * versions serve that script.
 */
export const joinLine = (joining: Joining, sha256: string): string =>
  scriptLine(joining, { sha256, args: `--token-stdin ${workerArguments(joining)}`, token: joining.token });

/** Returns the command that updates an installed worker on its machine, with the SHA-256 of the server's SHA256SUMS. */
export const updateLine = (at: Pick<Joining, 'url' | 'pin'>, sums: string): string =>
  `trainyard-worker update ${addressArguments(at)} --sums ${sums}`;

/** Returns the options of the worker, quoted for the shell. */
export const workerArguments = ({ name, persistent, ...at }: Omit<Joining, 'token'>): string =>
  `${addressArguments(at)} ${ownArguments({ name, persistent })}`;

/** Returns the options that are not about the server, quoted for the shell. */
const ownArguments = ({ name, persistent }: Pick<Joining, 'name' | 'persistent'>): string =>
  `${nameArgument(name)}${persistent ? ' --persistent' : ''}`;

/** Returns the option for the name. A name such as `--dir=/x` would be parsed as an option, so it is joined with `=`. */
export const nameArgument = (name: string): string =>
  name.startsWith('-') ? shellWord(`--name=${name}`) : `--name ${shellWord(name)}`;

/** Returns the options for the orchestrator's URL and key. */
export const addressArguments = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  `--orchestrator-url ${shellWord(url)}${pin === null ? '' : ` --pin ${shellWord(pin)}`}`;

/** Returns curl's options for the URL and the pin. Without `-g`, curl would expand the brackets of an IPv6 address. */
const curlTrust = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  (url.includes('[') ? 'g' : '') +
  (pin === null ? '' : `k --pinnedpubkey ${shellWord(`sha256//${pin.slice('sha256:'.length)}`)}`);

/** Quotes any text as one word for a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[\w.:/@+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
