import { describe, expect, test } from 'vitest';
import { createRestoration } from '../../../../main/host/restoration.ts';
import { accept, refuse } from '../../../../protocol/problem.ts';

// The step `sign` appends an audit row about the restore to the backup copy.
type Step = 'prepare' | 'suspend' | 'save' | 'close' | 'sign' | 'replaceDatabase' | 'reopen';

const by = { type: 'admin', id: 'ada', address: null } as const;
// `restore` passes the caller's request to `suspend`.
const request = 'the call';

function open(failingStep: Step | null = null) {
  const steps: string[] = [];
  const logged: [string, unknown][] = [];
  let finishPreparing = (): void => {};
  const step = (name: Step): void => {
    steps.push(name);
    if (name === failingStep) throw new Error(`/srv/data: ${name} fails`);
  };
  const restoration = createRestoration(
    {
      async prepare(name: string) {
        steps.push('prepare');
        await new Promise<void>(resolve => {
          finishPreparing = resolve;
        });
        if (failingStep === 'prepare') return refuse('backup_unusable', 'it is damaged');
        return accept({
          backup: { name },
          replaceDatabase: () => step('replaceDatabase'),
          drop: () => void steps.push('drop'),
        });
      },
      async suspend(suspendedFor: string) {
        expect(suspendedFor).toBe(request);
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
    finishPreparing();
    return outcome;
  };
  return { restoration, restore, steps, logged, finishPreparing: () => finishPreparing() };
}

describe('restoring a backup', () => {
  test('saves the current database first, and signs the backup copy before opening it', async () => {
    const { restore, steps } = open();
    expect(await restore()).toEqual(accept({ restored: { name: 'noon' }, saved: { name: 'saved' } }));
    expect(steps).toEqual([
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
    const { restore, steps } = open('prepare');
    expect(await restore()).toMatchObject({ ok: false, refusal: { code: 'backup_unusable' } });
    expect(steps).toEqual(['prepare']);
  });

  test.each<[failingStep: Step, stepsAfterPrepare: readonly Step[]]>([
    ['suspend', ['suspend', 'close', 'reopen']],
    ['save', ['suspend', 'save', 'close', 'reopen']],
    ['close', ['suspend', 'save', 'close', 'reopen']],
    ['sign', ['suspend', 'save', 'close', 'sign', 'reopen']],
    ['replaceDatabase', ['suspend', 'save', 'close', 'sign', 'replaceDatabase', 'reopen']],
  ])(
    'keeps the current database when the step "%s" fails, and reports the cause only in the log',
    async (step, stepsAfterPrepare) => {
      const { restore, steps, logged } = open(step);
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
      expect(steps).toEqual(['prepare', ...stepsAfterPrepare, 'drop']);
    },
  );

  test('refuses a second restore while one is running', async () => {
    const { restoration, steps, finishPreparing } = open();
    const first = restoration.restore('noon', by, request);
    expect(await restoration.restore('noon', by, request)).toMatchObject({
      ok: false,
      refusal: { code: 'restore_under_way' },
    });
    expect(steps).toEqual(['prepare']);
    let isIdle = false;
    const idle = restoration.idle().then(() => {
      isIdle = true;
    });
    await new Promise(resolve => setImmediate(resolve));
    expect(isIdle).toBe(false);
    finishPreparing();
    expect(await first).toMatchObject({ ok: true });
    await idle;
    const second = restoration.restore('noon', by, request);
    finishPreparing();
    expect(await second).toMatchObject({ ok: true });
  });

  test('throws when the restored database cannot be opened', async () => {
    const { restore } = open('reopen');
    await expect(restore()).rejects.toThrow(/reopen fails/);
  });
});
