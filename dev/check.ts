/**
 * Runs the checks of `npm run check`, except for the tests. Uses two parallel sequences, because most checks use one core.
 * Prints the output of each check when that check has ended. Runs the other checks even if one fails.
 */
import { spawn } from 'node:child_process';

const sequences = [['check:types'], ['check:lint', 'check:dead', 'check:format', 'check:text']] as const;

/** Runs an npm script. Resolves with true if it succeeded. */
function run(script: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const isWindows = process.platform === 'win32';
    const child = spawn('npm', ['run', '-s', script], {
      shell: isWindows,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    child.once('error', reject);
    child.once('close', code => {
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      const result = code === 0 ? `passed in ${seconds} s` : `failed (npm run ${script})`;
      process.stdout.write(`${Buffer.concat(output).toString()}${script}: ${result}\n`);
      resolve(code === 0);
    });
  });
}

/** Runs the scripts in sequence. Resolves with true if all of them succeeded. */
async function runSequence(scripts: readonly string[]): Promise<boolean> {
  let haveAllSucceeded = true;
  for (const script of scripts) haveAllSucceeded = (await run(script)) && haveAllSucceeded;
  return haveAllSucceeded;
}

const results = await Promise.all(sequences.map(runSequence));
process.exitCode = results.includes(false) ? 1 : 0;
