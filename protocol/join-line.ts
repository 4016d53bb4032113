/** All that a machine needs to become a worker, where nothing of ours is on it yet. */
export interface Joining {
  /** Of the orchestrator. */
  readonly url: string;
  /** `sha256:...` of its key, where that is its own and nobody else vouches for it. */
  readonly pin: string | null;
  /** One to join with, or the worker's own. */
  readonly token: string;
  readonly name: string;
  readonly persistent: boolean;
}

/** How the script of this orchestrator is run. */
export interface ScriptRun {
  /** Of the script, in lower-case hex. */
  readonly sha256: string;
  /** Behind its name, each as a word of the shell. */
  readonly words: string;
  /** Goes to its standard input. */
  readonly token?: string;
  readonly asRoot?: boolean;
}

/**
 * One line for any POSIX shell (and bash, zsh): it fetches the script that puts the worker program there, runs it when it is the one that
 * is meant, and does nothing otherwise. `printf` is a part of the shell, so that the token is in no list of processes.
 */
export function scriptLine(
  at: Pick<Joining, 'url' | 'pin'>,
  { sha256, words, token, asRoot }: ScriptRun,
): string {
  const hash = 'printf \'%s\\n\' "$s" | { sha256sum 2>/dev/null || shasum -a 256; }';
  const given = token === undefined ? '' : `printf '%s\\n' ${shellWord(token)} | `;
  const start = `${given}${asRoot === true ? 'sudo ' : ''}sh -c "$s" trainyard ${words}`;
  const refuse = "echo 'This is not the script that this command was made for: nothing was done' >&2; false";
  return (
    `(s=$(curl -fsS${curlTrust(at)} ${shellWord(`${at.url}/agent/install.sh`)}) && ` +
    `case $(${hash}) in ${sha256}*) ${start};; *) ${refuse};; esac)`
  );
}

/** What makes a machine a worker on which there is nothing of ours: the script has the SHA-256 that is given. */
export const joinLine = (joining: Joining, sha256: string): string =>
  scriptLine(joining, { sha256, words: `--token-stdin ${workerWords(joining)}`, token: joining.token });

/** As options of the worker, with the names of docs/workers.md. */
export const workerWords = ({ name, persistent, ...at }: Omit<Joining, 'token'>): string =>
  `${whereWords(at)} ${nameWords(name)}${persistent ? ' --persistent' : ''}`;

/** In one word with its option, a name such as `--dir=/x` stays a name. */
export const nameWords = (name: string): string =>
  name.startsWith('-') ? shellWord(`--name=${name}`) : `--name ${shellWord(name)}`;

/** Where the orchestrator is, and what it is known by there. */
export const whereWords = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  `--orchestrator-url ${shellWord(url)}${pin === null ? '' : ` --pin ${shellWord(pin)}`}`;

/** curl spells pins in its own way, and would read brackets of an address as a pattern. */
const curlTrust = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  (url.includes('[') ? 'g' : '') +
  (pin === null ? '' : `k --pinnedpubkey 'sha256//${pin.slice('sha256:'.length)}'`);

/** One word, for a POSIX shell, whatever is in it. */
const shellWord = (text: string): string =>
  /^[\w.:/@+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
