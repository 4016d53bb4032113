import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { judgeAudit } from './advisories.ts';

/**
 * `npm run audit`: checks the product's dependencies for known vulnerabilities of high or critical severity. Exits with 1
 * when there are any, and with 75 (sysexits.h: try again) when the registry did not answer.
 */
const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: join(import.meta.dirname, '..'),
  // On Windows npm is a shell script.
  shell: process.platform === 'win32',
  encoding: 'utf8',
  maxBuffer: 64 * 1024 ** 2,
});
const judgement = judgeAudit(stdout ?? '');
switch (judgement.kind) {
  case 'clean':
    console.log(
      `No dependency has a known vulnerability of high or critical severity (${judgement.minor} of lower severity)`,
    );
    break;
  case 'vulnerable':
    console.error(
      `Known vulnerabilities: ${judgement.packages.join(', ')}. Run "npm audit --omit=dev" for details`,
    );
    process.exitCode = 1;
    break;
  case 'unanswered':
    console.error(
      `NOT CHECKED: the registry did not report the vulnerabilities of the dependencies: ${judgement.why}`,
    );
    process.exitCode = 75;
}
