import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { diffusers, kohya } from '../../unit/trainers/configs.ts';
import { cliFile } from '../program-files.ts';
import { root, temporaryFolder } from '../processes.ts';
import { sampleFiles } from './sample-files.ts';

/** The reader's machine: a home with configs, images and programs, and the data folder of the server. */
export interface SampleHome {
  readonly home: string;
  /** The folder in which the reader runs commands. */
  readonly work: string;
  readonly dataDir: string;
  /** Folder of the programs on the reader's PATH. */
  readonly bin: string;
  /** Folder with a fake nvidia-smi, for the PATH of the worker. */
  readonly gpuBin: string;
  /** Folder with the worker program that rigs download. The file is empty, because the tests do not run it. */
  readonly programs: string;
  /** One checkout for all trainers. Its Python is the stand-in. */
  readonly checkout: string;
}

const standIn = join(root, 'tests/support/trainers/stand-in.ts');
/**
 * A fake Python that runs the stand-in. With `-c`, which the worker uses to get the version of the trainer, it prints a version.
 */
const python = `#!/bin/sh
if [ "$1" = -c ]; then echo version 0.0.1; else exec '${process.execPath}' '${standIn}' "$@"; fi
`;
const trainerScripts = [
  'run.py',
  'scripts/train.py',
  'train_network.py',
  kohya.script,
  diffusers.script,
] as const;

const uuid = 'GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a7';
const nvidiaSmi = `#!/bin/sh
case "$1" in
  --query-gpu=index,name,*)
    for n in 0 1; do echo "$n, NVIDIA A100-SXM4-80GB, 81920, 535.129.03, ${uuid}$n"; done ;;
  --query-gpu=*) for n in 0 1; do echo "$n, 3, 512, 41, 66.10, ${uuid}$n, 0"; done ;;
esac
`;

function write(path: string, text: string, mode = 0o600): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

export function createSampleHome(): SampleHome {
  const home = temporaryFolder();
  const pathOf = (name: string): string => join(home, name);
  for (const [name, text] of Object.entries(sampleFiles(home))) write(pathOf(name), text);
  const run = (words: string): string => `#!/bin/sh\nexec '${process.execPath}' ${cliFile} ${words}"$@"\n`;
  write(pathOf('bin/trainyard'), run(''), 0o755);
  write(pathOf('bin/trainyard-worker'), run('worker '), 0o755);
  // Resolve the real path of Python, because a shim such as pyenv's looks for it below the home folder.
  const systemPython = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
    encoding: 'utf8',
  });
  symlinkSync(systemPython.trim(), pathOf('bin/python3'));
  write(pathOf('programs/trainyard-worker.mjs'), '');
  write(pathOf('gpu/nvidia-smi'), nvidiaSmi, 0o755);
  write(pathOf('checkout/venv/bin/python'), python, 0o755);
  for (const script of trainerScripts) write(pathOf(`checkout/${script}`), '');
  return {
    home,
    work: pathOf('work'),
    dataDir: pathOf('.local/share/trainyard'),
    bin: pathOf('bin'),
    gpuBin: pathOf('gpu'),
    programs: pathOf('programs'),
    checkout: pathOf('checkout'),
  };
}
