import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

const folders = ['etc', 'opt', 'usr', 'var'] as const;

/** Shell script that puts a writable overlay over the system's folders. It ends when its standard input closes. */
const script = `set -e
mount -t tmpfs tmpfs /mnt
for folder in ${folders.join(' ')}; do
  mkdir -p "/mnt/$folder/upper" "/mnt/$folder/work"
  mount -t overlay overlay -o "lowerdir=/$folder,upperdir=/mnt/$folder/upper,workdir=/mnt/$folder/work" "/$folder"
done
echo ready
exec cat`;

export interface SystemCopy {
  /** Command line prefix that runs a program in the copy. */
  readonly prefix: readonly string[];
  readonly run: (
    program: string,
    ...args: readonly string[]
  ) => { readonly status: number | null; readonly output: string };
  /** Returns the files that exist only in the copy. */
  readonly addedFiles: () => readonly string[];
  readonly close: () => void;
}

/** Opens a copy of this system for the installation of packages. The real system does not change. Needs root. */
export async function openSystemCopy(): Promise<SystemCopy> {
  const holder = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit').then(([code]) => {
    throw new Error(`the copy of the system has ended with ${code}`);
  });
  // `close` ends the holder process. Only an exit before its first output is an error.
  ended.catch(() => {});
  await Promise.race([once(holder.stdout, 'data'), ended]);
  const prefix = ['nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, '--'];
  const run: SystemCopy['run'] = (program, ...args) => {
    const [command = '', ...rest] = [...prefix, program, ...args];
    const { status, stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8', maxBuffer: 2 ** 26 });
    return { status, output: `${stdout}${stderr}` };
  };
  return {
    prefix,
    run,
    addedFiles: () =>
      folders.flatMap(folder =>
        run(
          'find',
          `/mnt/${folder}/upper`,
          '-not',
          '-type',
          'd',
          '-not',
          '-type',
          'c',
          '-printf',
          `/${folder}/%P\n`,
        )
          .output.split('\n')
          .filter(line => line !== ''),
      ),
    close: () => holder.stdin.end(),
  };
}
