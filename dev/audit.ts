import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { judgeAudit } from './advisories.ts';

/**
 * `npm run audit`: whether anything that the product needs has a known hole that is high or critical. Exit code 1 when it has,
 * and 75 (sysexits.h: try again) when nobody could say.
 */
const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: join(import.meta.dirname, '..'),
  // On Windows npm is a script of the shell's.
  shell: process.platform === 'win32',
  encoding: 'utf8',
  maxBuffer: 64 * 1024 ** 2,
});
const judgement = judgeAudit(stdout ?? '');
switch (judgement.kind) {
  case 'clean':
    console.log(`No dependency has a known hole that is high or critical (${judgement.minor} lesser ones)`);
    break;
  case 'holes':
    console.error(`Known holes: ${judgement.packages.join(', ')}. "npm audit --omit=dev" says more`);
    process.exitCode = 1;
    break;
  case 'unanswered':
    console.error(
      `NOT CHECKED: the registry did not say whether dependencies have known holes: ${judgement.why}`,
    );
    process.exitCode = 75;
}
