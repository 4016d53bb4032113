import { join } from 'node:path';
import { readdirSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createArtifactFiles } from '../../../main/store/artifacts/artifact-files.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { jobId } from './builders.ts';

test('keeps new artifact files that are written while another file in their folder is removed', async () => {
  const folder = join(openFolder(), 'artifacts');
  const files = createArtifactFiles(folder);
  const job = jobId('j_1');
  for (let round = 0; round < 100; round += 1) {
    const names = Array.from({ length: 4 }, files.newName);
    await Promise.all(
      names.flatMap(name => [
        files.open(job, name, 0).then(async handle => {
          await handle.write(Buffer.from('abc'));
          await handle.close();
        }),
        files.remove(job, 'another'),
      ]),
    );
    expect(readdirSync(join(folder, job)).toSorted()).toEqual(names.toSorted());
    expect(statSync(join(folder, job)).mode & 0o777).toBe(0o700);
    await Promise.all(names.map(name => files.remove(job, name)));
  }
});
