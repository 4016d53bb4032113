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

/**
 * One line for any POSIX shell (and bash, zsh): it fetches the script that puts the worker program there, runs it when it has this
 * SHA-256 (lower-case hex) and does nothing otherwise, and gives it the token by its standard input: `printf` is a part of the shell,
 * so that the token is in no list of processes.
 */
export function joinLine(joining: Joining, sha256: string): string {
  const { url, token } = joining;
  const hash = 'printf \'%s\\n\' "$s" | { sha256sum 2>/dev/null || shasum -a 256; }';
  const start = `printf '%s\\n' ${shellWord(token)} | sh -c "$s" trainyard --token-stdin ${workerWords(joining)}`;
  const refuse = "echo 'This is not the script that this command was made for: nothing was done' >&2; false";
  return (
    `(s=$(curl -fsS${curlTrust(joining)} ${shellWord(`${url}/agent/install.sh`)}) && ` +
    `case $(${hash}) in ${sha256}*) ${start};; *) ${refuse};; esac)`
  );
}

/** As options of the worker, with the names of docs/workers.md. */
export const workerWords = ({ url, pin, name, persistent }: Omit<Joining, 'token'>): string =>
  [
    `--orchestrator-url ${shellWord(url)}`,
    ...(pin === null ? [] : [`--pin ${shellWord(pin)}`]),
    `--name ${shellWord(name)}`,
    ...(persistent ? ['--persistent'] : []),
  ].join(' ');

/** curl spells pins in its own way, and would read brackets of an address as a pattern. */
const curlTrust = ({ url, pin }: Pick<Joining, 'url' | 'pin'>): string =>
  (url.includes('[') ? 'g' : '') +
  (pin === null ? '' : `k --pinnedpubkey 'sha256//${pin.slice('sha256:'.length)}'`);

/** One word, for a POSIX shell, whatever is in it. */
const shellWord = (text: string): string =>
  /^[\w.:/@+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
