import { describe, expect, test } from 'vitest';
import type { JoinToken } from '../../../main/orchestrator/ports/index.ts';
import { at, type OpenStore, putWorkers, workerId } from './builders.ts';

const makeJoinToken = (id: string, changes: Partial<JoinToken> = {}): JoinToken => ({
  workerId: workerId(id),
  expiresAt: at(60),
  usedFor: null,
  ...changes,
});

export function describeJoinTokens(open: OpenStore): void {
  describe('join tokens', () => {
    const openWithTwoTokens = async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      await store.write(tx => {
        tx.setJoinToken('join-1', makeJoinToken('w_1'));
        tx.setJoinToken('join-2', makeJoinToken('w_2', { expiresAt: at(90) }));
      });
      return store;
    };

    test('finds a join token by its hash', async () => {
      const store = await openWithTwoTokens();
      expect(store.joinToken('join-1')).toEqual(makeJoinToken('w_1'));
      expect(store.joinToken('join-2')).toEqual(makeJoinToken('w_2', { expiresAt: at(90) }));
      expect(store.joinToken('join-3')).toBeNull();
    });

    test('stores the worker token that a join token was used for', async () => {
      const store = await openWithTwoTokens();
      await store.write(tx => tx.setJoinToken('join-1', makeJoinToken('w_1', { usedFor: 'hash-9' })));
      expect(store.joinToken('join-1')).toEqual(makeJoinToken('w_1', { usedFor: 'hash-9' }));
      expect(store.joinToken('join-2')?.usedFor).toBeNull();
    });

    test('replaces the previous join token of a worker', async () => {
      const store = await openWithTwoTokens();
      await store.write(tx => tx.setJoinToken('join-1', makeJoinToken('w_1', { usedFor: 'hash-9' })));
      await store.write(tx => tx.setJoinToken('join-3', makeJoinToken('w_1', { expiresAt: at(70) })));
      expect(store.joinToken('join-1')).toBeNull();
      expect(store.joinToken('join-3')).toEqual(makeJoinToken('w_1', { expiresAt: at(70) }));
      expect(store.joinToken('join-2')).not.toBeNull();
    });

    test('removes only the join token of the given worker', async () => {
      const store = await openWithTwoTokens();
      await store.write(tx => tx.removeJoinToken(workerId('w_1')));
      expect([store.joinToken('join-1'), store.joinToken('join-2')]).toEqual([
        null,
        makeJoinToken('w_2', { expiresAt: at(90) }),
      ]);
      await store.write(tx => tx.removeJoinToken(workerId('w_1')));
    });

    test('refuses a join token for two workers or for an unknown worker', async () => {
      const store = await openWithTwoTokens();
      await expect(store.write(tx => tx.setJoinToken('join-1', makeJoinToken('w_2')))).rejects.toThrow(
        'UNIQUE',
      );
      await expect(store.write(tx => tx.setJoinToken('join-3', makeJoinToken('w_9')))).rejects.toThrow(
        'FOREIGN',
      );
      expect(store.joinToken('join-1')).toEqual(makeJoinToken('w_1'));
    });
  });
}
