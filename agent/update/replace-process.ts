import { spawn } from 'node:child_process';

/**
 * Continues as another program: same process, terminal and service. Windows cannot do that, so there this process stays as
 * the parent of the other, and ends with it. Resolves with its exit code; never where the process is replaced.
 */
export async function replaceProcess(
  [file = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const definedEnv = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  if (process.platform !== 'win32' && process.execve !== undefined)
    process.execve(file, [file, ...args], definedEnv);
  const child = spawn(file, args, { env: definedEnv, stdio: 'inherit' });
  return new Promise(resolve => {
    child.once('error', () => resolve(1));
    child.once('exit', code => resolve(code ?? 1));
  });
}
