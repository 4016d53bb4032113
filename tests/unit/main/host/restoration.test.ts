import { describe, expect, test } from 'vitest';
import { createRestoration } from '../../../../main/host/restoration.ts';
import { accept, refuse } from '../../../../protocol/problem.ts';

type Step = 'prepare' | 'suspend' | 'save' | 'close' | 'sign' | 'replaceDatabase' | 'reopen';

const by = { type: 'admin', id: 'ada', address: null } as const;
const request = 'the call';

function open(fails: Step | null = null) {
  const done: string[] = [];
  const logged: [string, unknown][] = [];
  let letPrepare = (): void => {};
  const step = (name: Step): void => {
    done.push(name);
    if (name === fails) throw new Error(`/srv/data: ${name} fails`);
  };
  const restoration = createRestoration(
    {
      async prepare(name: string) {
        done.push('prepare');
        await new Promise<void>(resolve => {
          letPrepare = resolve;
        });
        if (fails === 'prepare') return refuse('backup_unusable', 'it is damaged');
        return accept({
          backup: { name },
          replaceDatabase: () => step('replaceDatabase'),
          drop: () => void done.push('drop'),
        });
      },
      async suspend(who: string) {
        expect(who).toBe(request);
        step('suspend');
      },
      async save() {
        step('save');
        return { name: 'saved' };
      },
      close: async () => step('close'),
      sign: async (ready, saved, actor) => {
        expect([ready.backup.name, saved.name, actor]).toEqual(['noon', 'saved', by]);
        step('sign');
      },
      reopen: async () => step('reopen'),
    },
    { info: () => {}, warn: () => {}, error: (event, fields) => void logged.push([event, fields]) },
  );
  const restore = async () => {
    const outcome = restoration.restore('noon', by, request);
    letPrepare();
    return outcome;
  };
  return { restoration, restore, done, logged, letPrepare: () => letPrepare() };
}

describe('restoring a backup', () => {
  test('saves the current database first, and signs the copy before it is opened', async () => {
    const { restore, done } = open();
    expect(await restore()).toEqual(accept({ restored: { name: 'noon' }, saved: { name: 'saved' } }));
    expect(done).toEqual([
      'prepare',
      'suspend',
      'save',
      'close',
      'sign',
      'replaceDatabase',
      'reopen',
      'drop',
    ]);
  });

  test('changes nothing when the backup is unusable', async () => {
    const { restore, done } = open('prepare');
    expect(await restore()).toMatchObject({ ok: false, refusal: { code: 'backup_unusable' } });
    expect(done).toEqual(['prepare']);
  });

  test.each<[Step, readonly Step[]]>([
    ['suspend', ['suspend', 'close', 'reopen']],
    ['save', ['suspend', 'save', 'close', 'reopen']],
    ['close', ['suspend', 'save', 'close', 'reopen']],
    ['sign', ['suspend', 'save', 'close', 'sign', 'reopen']],
    ['replaceDatabase', ['suspend', 'save', 'close', 'sign', 'replaceDatabase', 'reopen']],
  ])(
    'keeps the current database when step "%s" fails, and names the file only in the log',
    async (step, steps) => {
      const { restore, done, logged } = open(step);
      const outcome = await restore();
      expect(outcome).toMatchObject({
        ok: false,
        refusal: {
          code: 'storage',
          detail: expect.stringMatching(/Nothing was changed.*The log has the reason/),
        },
      });
      expect(JSON.stringify(outcome)).not.toContain('/srv');
      const cause = expect.objectContaining({ message: `/srv/data: ${step} fails` });
      expect(logged).toEqual([['restore.failed', expect.objectContaining({ backup: 'noon', cause })]]);
      expect(done).toEqual(['prepare', ...steps, 'drop']);
    },
  );

  test('refuses a second restore while one is running', async () => {
    const { restoration, done, letPrepare } = open();
    const first = restoration.restore('noon', by, request);
    expect(await restoration.restore('noon', by, request)).toMatchObject({
      ok: false,
      refusal: { code: 'restore_under_way' },
    });
    expect(done).toEqual(['prepare']);
    let isIdle = false;
    const idle = restoration.idle().then(() => {
      isIdle = true;
    });
    await new Promise(resolve => setImmediate(resolve));
    expect(isIdle).toBe(false);
    letPrepare();
    expect(await first).toMatchObject({ ok: true });
    await idle;
    const secondCall = restoration.restore('noon', by, request);
    letPrepare();
    expect(await secondCall).toMatchObject({ ok: true });
  });

  test('throws when the restored database cannot be opened', async () => {
    const { restore } = open('reopen');
    await expect(restore()).rejects.toThrow(/reopen fails/);
  });
});
