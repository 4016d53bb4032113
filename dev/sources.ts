import { watch } from 'node:fs';
import { join } from 'node:path';

/** Editors write in several steps. */
const settleMs = 150;
const isSource = (name: string): boolean =>
  /\.(?:ts|json|html|css|js)$/.test(name) && !/(?:^|\/)\./.test(name);

/** Reports changes below these folders, with the name of the first changed file. Call the returned function to stop. */
export function watchSources(
  root: string,
  folders: readonly string[],
  onChange: (file: string) => void,
): () => void {
  let timer: NodeJS.Timeout | null = null;
  const watchers = folders.map(folder =>
    watch(join(root, folder), { recursive: true }, (_what, name) => {
      if (name === null || !isSource(name) || timer !== null) return;
      timer = setTimeout(() => {
        timer = null;
        onChange(`${folder}/${name}`);
      }, settleMs);
    }),
  );
  return () => {
    for (const watcher of watchers) watcher.close();
    if (timer !== null) clearTimeout(timer);
  };
}
