import { spawn } from 'node:child_process';

/**
 * Replaces this process by another program, which keeps the pid, the terminal and the service. The function then never
 * resolves. Windows cannot replace a process. There, this process starts the other program as its child, and resolves
 * with the child's exit code.
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
