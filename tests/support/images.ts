import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './processes.ts';

/** Returns why this machine cannot build images; null if it can. */
export function missingForImages(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the images are for Linux x64';
  if (process.getuid?.() !== 0) return 'only root can make the base image';
  const missing = ['buildah', 'mmdebstrap'].filter(name => spawnSync('which', [name]).status !== 0);
  return missing.length === 0
    ? null
    : `${missing.join(', ')} missing (on Debian: apt-get install buildah mmdebstrap)`;
}

export interface Images {
  /** Builds an image from a Containerfile in the repository, and tags it with this name. */
  readonly build: (name: string, options: readonly string[]) => void;
  /** Starts a program in a new container of an image. */
  readonly start: (image: string, options: readonly string[], command: readonly string[]) => ChildProcess;
  /** Runs a program in a new container, and returns its output. */
  readonly run: (image: string, options: readonly string[], command: readonly string[]) => string;
  /** Returns the configuration of an image: its user, volumes and entry point. */
  readonly inspect: (image: string) => unknown;
  readonly remove: () => void;
}

/**
 * Builds and runs container images with Debian's buildah, in a temporary store. `chroot` isolation needs no cgroups and no
 * separate network, so it works inside other sandboxes. The base images are built from Debian packages, without a registry.
 */
export function openImages(): Images {
  const folder = mkdtempSync(join(tmpdir(), 'images-'));
  const store = [
    '--root',
    join(folder, 'root'),
    '--runroot',
    join(folder, 'run'),
    '--storage-driver',
    'overlay',
  ];
  const buildah = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync('buildah', [...store, ...args], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (status !== 0) throw new Error(`buildah ${args[0]}: ${stdout.slice(-2_000)}${stderr.slice(-2_000)}`);
    return stdout.trim();
  };
  makeBaseImages(buildah, folder);
  const commandLine = (image: string, options: readonly string[], command: readonly string[]) => {
    const container = buildah('from', image);
    return ['run', '--isolation', 'chroot', ...options, container, '--', ...command];
  };
  return {
    build: (name, options) =>
      void buildah(
        'build',
        '--isolation',
        'chroot',
        '--layers',
        '--format',
        'docker',
        '-t',
        name,
        ...options,
      ),
    start: (image, options, command) =>
      spawn('buildah', [...store, ...commandLine(image, options, command)], {
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    run: (image, options, command) => buildah(...commandLine(image, options, command)),
    inspect(image) {
      const { Docker } = JSON.parse(buildah('inspect', '--type', 'image', image)) as {
        readonly Docker: { readonly config: unknown };
      };
      return Docker.config;
    },
    remove: () => void buildah('rm', '--all'),
  };
}

/** Names of the base images of the Containerfile: a minimal Debian, and the same Debian with this machine's Node and npm. */
export const baseImages = { debian: 'localhost/base-debian', node: 'localhost/base-node' };

function makeBaseImages(buildah: (...args: readonly string[]) => string, folder: string): void {
  const archive = join(folder, 'debian.tar');
  const packages = 'ca-certificates,libstdc++6,libatomic1';
  const { status, stderr } = spawnSync(
    'mmdebstrap',
    ['--variant=minbase', `--include=${packages}`, 'bookworm', archive],
    {
      encoding: 'utf8',
    },
  );
  if (status !== 0) throw new Error(`mmdebstrap: ${stderr.slice(-2_000)}`);
  const debian = buildah('from', 'scratch');
  buildah('add', debian, archive, '/');
  // A machine behind a proxy may trust additional certificate authorities.
  const authorities = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(authorities)) buildah('copy', debian, authorities, authorities);
  // Node trusts its built-in authorities, and adds the authorities in this file.
  buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${authorities}`, debian);
  buildah('commit', '-q', debian, baseImages.debian);

  const node = buildah('from', baseImages.debian);
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  copyFileSync(process.execPath, join(bin, 'node'));
  chmodSync(join(bin, 'node'), 0o755);
  buildah('copy', node, bin, '/usr/local/bin');
  const npm = spawnSync('sh', ['-c', 'dirname "$(dirname "$(readlink -f "$(command -v npm)")")"'], {
    encoding: 'utf8',
  });
  buildah('copy', node, npm.stdout.trim(), '/usr/local/lib/node_modules/npm');
  const setUp =
    'ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && useradd --uid 1000 --create-home node';
  buildah('run', '--isolation', 'chroot', node, '--', 'sh', '-c', setUp);
  buildah('commit', '-q', node, baseImages.node);
}
