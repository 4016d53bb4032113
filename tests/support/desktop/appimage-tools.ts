import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Shell script that replaces the runtime, which is the program at the start of an AppImage. Without it, electron-builder would
 * download the original runtime, which mounts the image. The script unpacks the image instead, starts the app, and removes the
 * unpacked files after the app has ended.
 */
const runtime = `#!/bin/sh
# AppImage
APPIMAGE=$(readlink -f "$0")
APPDIR=$(mktemp -d "\${TMPDIR:-/tmp}/appimage-XXXXXX")
export APPIMAGE APPDIR
unsquashfs -quiet -no-progress -force -dest "$APPDIR" -offset 4096 "$APPIMAGE" >/dev/null || exit 1
trap 'kill "$child"' TERM INT
"$APPDIR/AppRun" "$@" &
child=$!
wait "$child"; wait "$child"
status=$?
rm -rf "$APPDIR"
exit "$status"
`;

/**
 * Fills and returns `folder`, for electron-builder's variable APPIMAGE_TOOLS_PATH. Links the programs of Debian's squashfs-tools
 * and desktop-file-utils.
 */
export function createAppImageTools(folder: string): string {
  mkdirSync(join(folder, 'runtimes'), { recursive: true });
  mkdirSync(join(folder, 'lib/x64'), { recursive: true });
  for (const program of ['mksquashfs', 'desktop-file-validate'])
    symlinkSync(`/usr/bin/${program}`, join(folder, program));
  const file = join(folder, 'runtimes/runtime-x64');
  // The image follows after these 4,096 bytes. The script exits before its end, so that the shell does not read the image.
  writeFileSync(file, runtime.padEnd(4096, '\n'));
  chmodSync(file, 0o755);
  return folder;
}

const programs = [
  'dpkg-deb',
  'rpmbuild',
  'mksquashfs',
  'unsquashfs',
  'desktop-file-validate',
  'Xvfb',
] as const;

/** Returns why this machine cannot build and install the packages; null if it can. */
export function missingForInstallers(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the packages are for Linux x64';
  if (process.getuid?.() !== 0) return 'only root can install packages';
  const missing = programs.filter(name => spawnSync('which', [name]).status !== 0);
  if (missing.length === 0) return null;
  return `${missing.join(', ')} missing (on Debian: apt-get install dpkg rpm squashfs-tools desktop-file-utils xvfb)`;
}
