import type { ProgramName } from '../../../protocol/agent-api.ts';
import { addressArguments, isVerifiable } from '../../../protocol/join-line.ts';
import { workerValueOptions } from '../../../protocol/worker-options.ts';

interface Pinned {
  readonly name: ProgramName;
  readonly sha256: string;
}

/**
 * Returns a script for any POSIX shell that installs and starts the worker program. The script contains the SHA-256 of each
 * program, so the hash of the script determines which programs run. The script is the same for every client; the command line
 * contains the orchestrator's URL. The shell reads up to the last brace before it runs anything, so a truncated download does
 * nothing.
 */
export const installScript = (version: string, programs: readonly Pinned[]): string =>
  scriptOf(version, programs, 'asks=no');

/**
 * Returns the install script with an addition: the script adds the server's address and pin to its options, unless the options
 * name another address. Without a token, the script asks for one. If an attacker could replace the script, because the URL is not
 * encrypted, returns a script that only explains this.
 */
export const joinScript = (
  version: string,
  programs: readonly Pinned[],
  { url, pin }: { readonly url: string; readonly pin: string | null },
): string =>
  isVerifiable(url)
    ? scriptOf(
        version,
        programs,
        `asks=yes
case " $* " in
  *' --orchestrator-url'*) ;;
  *) set -- "$@" ${addressArguments({ url, pin })} ;;
esac`,
      )
    : unverifiable;

const unverifiable = `#!/bin/sh
echo 'trainyard: This address is not encrypted, so this script cannot be verified. Copy the whole join command from the panel' >&2
exit 2
`;

/** `start`: commands that run before the script reads its options. */
function scriptOf(version: string, programs: readonly Pinned[], start: string): string {
  const hashOf = (program: ProgramName): string =>
    programs.find(({ name }) => name === program)?.sha256 ?? '';
  return `#!/bin/sh
# Fetches the Trainyard worker ${version} from its orchestrator, checks it, and starts it.
${usage}
{
set -eu
version='${version}'
sha256_linux_x64='${hashOf('trainyard-worker-linux-x64')}'
sha256_linux_arm64='${hashOf('trainyard-worker-linux-arm64')}'
sha256_darwin_arm64='${hashOf('trainyard-worker-darwin-arm64')}'
sha256_bundle='${hashOf('trainyard-worker.mjs')}'

${helpers}
${parsing}
${fetching}
${installing}
${start}
main "$@"
}
`;
}

const usage = `#
#   sh install.sh [--dir FOLDER] [--install-only] [--token-stdin] --orchestrator-url URL [options of the worker]
#
#   --dir FOLDER     folder of the program (default: ~/.local/bin)
#   --install-only   installs the worker, but does not start it
#   --token-stdin    reads the worker's token from the first line of standard input
#
# The environment variable JOIN_TOKEN can contain the token, too.
`;

const helpers = `say() { printf 'trainyard: %s\\n' "$1" >&2; }
fail() { say "$1"; exit "\${2:-1}"; }
has() { command -v "$1" >/dev/null 2>&1; }
`;

/** The script evaluates these options, and also passes them to the worker. */
const ownOptions: readonly string[] = ['--orchestrator-url', '--pin', '--ca-file'];
/** The worker's other options that have a value. The word after such an option is always its value. */
const valueOptions = workerValueOptions.filter(option => !ownOptions.includes(option));

/** Parses the options. The worker gets all of them in the same order, except three that only the script has. */
const parsing = `main() {
  url='' pins='' ca='' trust=pinned dir='' start=yes from_stdin=no token=\${JOIN_TOKEN:-}
  unset JOIN_TOKEN
  left=$#
  while [ "$left" -gt 0 ]; do
    word=$1
    shift
    left=$((left - 1))
    value=\${word#*=}
    case $word in
      --dir | ${ownOptions.join(' | ')} | ${valueOptions.join(' | ')})
        [ "$left" -gt 0 ] || fail "$word needs a value" 2
        value=$1
        shift
        left=$((left - 1))
        ;;
    esac
    case $word in
      --install-only) start=no; continue ;;
      --token-stdin) from_stdin=yes; continue ;;
      --dir | --dir=*) dir=$value; continue ;;
      --orchestrator-url | --orchestrator-url=*) url=$value; word=--orchestrator-url=$value ;;
      --pin | --pin=*) add_pin "$value"; word=--pin=$value ;;
      --ca-file | --ca-file=*) ca=$value; word=--ca-file=$value ;;
      --ssl-no-verify) trust=unverified ;;
    esac
    case $word in
      ${valueOptions.join(' | ')}) set -- "$@" "$word" "$value" ;;
      *) set -- "$@" "$word" ;;
    esac
  done
  case $url in
    http://?* | https://?*) url=\${url%/} ;;
    *) fail 'Say where the orchestrator is: --orchestrator-url URL' 2 ;;
  esac
  [ "$from_stdin" = no ] || IFS= read -r token || :
  [ "$from_stdin" = no ] || [ -n "$token" ] || fail 'Standard input contains no token' 2
  [ "$asks$start" != yesyes ] || [ -n "$token\${SIMPLETUNER_WORKER_TOKEN:-}" ] || ask_token "$@"
  install
  [ "$start" = yes ] || return 0
  if [ -n "$token" ]; then
    SIMPLETUNER_WORKER_TOKEN=$token
    export SIMPLETUNER_WORKER_TOKEN
  fi
  exec "$program" "$@" </dev/null
}

# The standard input is the script itself, so the answer comes from the terminal. Without one, the worker reports a missing token.
ask_token() {
  case " $* " in *' --worker-token'*) return 0 ;; esac
  { : </dev/tty; } 2>/dev/null || return 0
  printf 'Join token (leave empty if this machine has joined before): ' >/dev/tty
  IFS= read -r token </dev/tty || :
}

add_pin() {
  case $1 in
    sha256:*) pins="$pins\${pins:+;}$(printf %s "$1" | sed 's#sha256:#sha256//#g; s#,#;#g')" ;;
    *) fail "--pin takes sha256:..., as the panel shows it" 2 ;;
  esac
}
`;

/** Downloads a file. The request contains no token and the hash of the file is checked, so the transport need not be trusted. */
const fetching = `fetch() {
  if has curl; then
    set -- -fgsS --connect-timeout 20 --retry 5 -o "$2" "$url/agent/$1"
    [ -z "$ca" ] || set -- --cacert "$ca" "$@"
    [ "$trust" = pinned ] || set -- -k "$@"
    [ -z "$pins" ] || set -- -k --pinnedpubkey "$pins" "$@"
    curl "$@"
  elif has wget; then
    set -- -q -O "$2" "$url/agent/$1"
    [ -z "$ca" ] || set -- --ca-certificate="$ca" "$@"
    [ "$trust" = pinned ] || set -- --no-check-certificate "$@"
    [ -z "$pins" ] || set -- --no-check-certificate --pinnedpubkey="$pins" "$@"
    wget "$@"
  else
    fail 'This machine has neither curl nor wget: install one of them'
  fi || fail "The worker could not be downloaded from $url/agent/: check the address, and that this machine can reach it"
}

sha256_of() {
  if has sha256sum; then
    sha256sum <"$1"
  elif has shasum; then
    shasum -a 256 <"$1"
  elif has openssl; then
    openssl dgst -sha256 -r <"$1"
  else
    fail 'This machine has no sha256sum, shasum or openssl to verify the worker: install one of them'
  fi
}

has_hash() { [ -f "$1" ] && case $(sha256_of "$1") in "$2"*) true ;; *) false ;; esac; }
`;

const installing = `install() {
  if [ -z "$dir" ]; then
    home=\${HOME:-}
    [ -n "$home" ] || home=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6) || :
    [ -n "$home" ] || fail 'This user has no home folder: choose the folder of the worker with --dir' 2
    dir=$home/.local/bin
  fi
  mkdir -p -- "$dir" || fail "The folder $dir cannot be created: choose another folder with --dir"
  dir=$(cd -- "$dir" && pwd)
  program=$dir/trainyard-worker
  case $(uname -s)-$(uname -m) in
    Linux-x86_64 | Linux-amd64) platform=linux-x64 sha256=$sha256_linux_x64 ;;
    Linux-aarch64 | Linux-arm64) platform=linux-arm64 sha256=$sha256_linux_arm64 ;;
    Darwin-arm64) platform=darwin-arm64 sha256=$sha256_darwin_arm64 ;;
    *) platform='' sha256='' ;;
  esac
  if [ -n "$sha256" ]; then
    put "trainyard-worker-$platform" "$sha256" "$program" && return 0
    say "The worker for $platform does not run here: trying the one for Node"
  fi
  [ -n "$sha256_bundle" ] || fail "The orchestrator has no worker for this machine ($(uname -s) $(uname -m))"
  has node || fail "For this machine ($(uname -s) $(uname -m)) the worker needs Node 22.19 or newer: install it, and try again"
  node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)' ||
    fail "The worker needs Node 22.19 or newer, and this machine has $(node --version)"
  put trainyard-worker.mjs "$sha256_bundle" "$program.mjs" || fail 'The worker does not run on this machine'
  ln -sf -- trainyard-worker.mjs "$program"
}

# Fails when the new worker does not run here. The old one is replaced only after the new one has run.
put() {
  if has_hash "$3" "$2"; then return 0; fi
  draft=$dir/.trainyard-worker.$$.mjs
  trap 'rm -f -- "$draft"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  fetch "$1" "$draft"
  has_hash "$draft" "$2" || fail "The file $url/agent/$1 is not the worker of this script: nothing was changed"
  chmod 755 "$draft"
  if said=$("$draft" --version 2>&1) && [ "$said" = "$version" ]; then
    mv -f -- "$draft" "$3" || fail "The worker cannot be written to $dir"
    trap - EXIT HUP INT TERM
    say "The worker $version is in $3"
  else
    say "$said"
    return 1
  fi
}
`;
