/** Everything a machine without the worker program needs to become a worker. */
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

/** How to run the orchestrator's script. */
export interface ScriptRun {
  /** SHA-256 of the script in lower-case hex. */
  readonly sha256: string;
  /** Arguments, quoted for the shell. */
  readonly words: string;
  /** Passed on standard input. */
  readonly token?: string;
  readonly asRoot?: boolean;
  /** Whether the script takes the place of the shell, so that signals to the shell's process reach the worker. */
  readonly inPlace?: boolean;
}

/**
 * Returns one line for any POSIX shell (also bash and zsh). It downloads the install script and runs it only if the hash matches.
 * `printf` is a shell builtin, so the token never appears in a process list.
 */
export function scriptLine(
  at: Pick<Joining, 'url' | 'pin'>,
  { sha256, words, token, asRoot, inPlace }: ScriptRun,
): string {
  const hash = 'printf \'%s\\n\' "$s" | { sha256sum 2>/dev/null || shasum -a 256; }';
  const given = token === undefined ? '' : `printf '%s\\n' ${shellWord(token)} | `;
  const start = `${given}${inPlace === true ? 'exec ' : ''}${asRoot === true ? 'sudo ' : ''}sh -c "$s" trainyard ${words}`;
  const refuse = "echo 'This is not the script that this command was made for: nothing was done' >&2; false";
  const line =
    `s=$(curl -fsS${curlTrust(at)} ${shellWord(`${at.url}/agent/install.sh`)}) && ` +
    `case $(${hash}) in ${sha256}*) ${start};; *) ${refuse};; esac`;
  return inPlace === true ? line : `(${line})`;
}

/** Returns the line that turns a bare machine into a worker. `sha256` is the hash of the script. */
export const joinLine = (joining: Joining, sha256: string): string =>
  scriptLine(joining, { sha256, words: `--token-stdin ${workerWords(joining)}`, token: joining.token });

/** Options of the worker, named as in docs/workers.md. */
export const workerWords = ({ name, persistent, ...at }: Omit<Joining, 'token'>): string =>
  `${whereWords(at)} ${nameWords(name)}${persistent ? ' --persistent' : ''}`;

/** Joins option and value in one word, so that a name such as `--dir=/x` is not parsed as an option. */
export const nameWords = (name: string): string =>
  name.startsWith('-') ? shellWord(`--name=${name}`) : `--name ${shellWord(name)}`;

/** Options for the orchestrator's URL and identity. */
export const whereWords = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  `--orchestrator-url ${shellWord(url)}${pin === null ? '' : ` --pin ${shellWord(pin)}`}`;

/** curl has its own syntax for pins. Without `-g`, it would expand the brackets of an IPv6 address as a pattern. */
const curlTrust = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  (url.includes('[') ? 'g' : '') +
  (pin === null ? '' : `k --pinnedpubkey 'sha256//${pin.slice('sha256:'.length)}'`);

/** Quotes any text as one word for a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[\w.:/@+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
