import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer } from '../support/server.ts';

test('lists audit entries with their actors, and names an edited row in audit verify', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const audit = (...args: readonly string[]) =>
    runTrainyard(['audit', ...args, '--data-dir', server.dataDir]);
  const { id } = await server.createWorker({ name: 'rig-1' });
  await server.createWorker({ name: 'rig-2' });
  const fields = await audit('list', '--type', 'worker.created', '-o', 'actor_id,event_type,target_id');
  expect(fields.out.split('\n').slice(0, -1)).toHaveLength(2);
  const targetRows = await audit('list', '--target', id);
  expect(targetRows.out).toMatch(
    new RegExp(`^SEQ +TIME.*\n\\d+ +\\S+Z +admin +worker\\.created +${id} +\\{.*\\}\n$`),
  );
  expect((await audit('list', '--limit', '1', '--offset', '1', '--json')).out).toContain(id);
  expect(await audit('list', '--type', 'weather')).toMatchObject({
    out: '',
    err: 'No matching entries\n',
  });
  expect(await audit('verify')).toMatchObject({ code: 0, out: expect.stringContaining('intact'), err: '' });

  const db = new Database(join(server.dataDir, 'trainyard.db'));
  db.exec('DROP TRIGGER audit_rows_stay');
  db.prepare("UPDATE audit SET details = '{}' WHERE target_id = ?").run(id);
  db.close();
  const verification = await audit('verify', '-o', 'valid');
  expect(verification).toMatchObject({ code: 1, out: 'false\n' });
  expect(verification.err).toMatch(/^The audit trail is broken at row \d+: .*backup/);
});

test('counts entries with audit stats, and prints all entries oldest first with audit export', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const audit = (...args: readonly string[]) =>
    runTrainyard(['audit', ...args, '--data-dir', server.dataDir]);
  for (const name of ['rig-1', 'rig-2', 'rig-3']) await server.createWorker({ name });
  const stats = await audit('stats', '--type', 'worker.*');
  expect(stats).toMatchObject({ code: 0, err: '' });
  expect(stats.out).toMatch(/^Entries +3\n/);
  expect(stats.out).toMatch(/By type +3 worker\.created\n/);
  const exportRun = await audit('export', '--type', 'worker.*');
  expect(exportRun).toMatchObject({ code: 0, err: '' });
  const lines = exportRun.out.trimEnd().split('\n');
  expect(lines.map(line => (JSON.parse(line) as { readonly seq: number }).seq)).toEqual([1, 2, 3]);
  expect(await audit('export', '--since', 'last week')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/--since.*last week.*2026-01-31T12:00:00Z.*2h, 3d or yesterday/),
  });
  expect(await audit('stats', '--type', 'x'.repeat(60), '--since', '2h')).toMatchObject({ code: 0 });
  expect((await audit('export', '--type', 'worker.*', '--since', 'yesterday')).out).toBe(exportRun.out);
  expect((await audit('export', '--type', 'worker.*', '--until', '2h')).out).toBe('');
  expect(await audit('list', '--limit', '501')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/--limit.*'501'.*from 1 to 500/),
  });
  expect(await audit('verify', '--from', '2', '--to', '3', '-o', 'valid,checked')).toMatchObject({
    out: 'true\t2\n',
  });
});
