import { describe, expect, test } from 'vitest';
import type { ApiToken, Store } from '../../../main/orchestrator/ports/index.ts';
import { SessionId, TokenId } from '../../../protocol/ids.ts';
import { at, type OpenStore } from './builders.ts';

const tokenId = (id: string): TokenId => TokenId.parse(id);

const makeToken = (changes: Partial<ApiToken> = {}): ApiToken => ({
  id: tokenId('t_1'),
  name: 'nightly',
  team: null,
  permissions: ['queue.view', 'queue.submit'],
  createdAt: at(1),
  createdBy: 'admin',
  expiresAt: null,
  usedAt: null,
  ...changes,
});

type Session = NonNullable<ReturnType<Store['session']>>;

const makeSession = (changes: Partial<Session> = {}): Session => ({
  id: SessionId.parse('se_1'),
  user: 'nightly',
  tokenId: null,
  adminHash: 'hash-of-admin',
  device: 'Firefox 140 on Linux',
  address: '127.0.0.1',
  since: at(1),
  usedAt: at(1),
  until: at(99),
  ...changes,
});

export function describeTokens(open: OpenStore): void {
  describe('tokens', () => {
    test('finds API tokens by id and by hash, and lists them by name', async () => {
      const store = open();
      const [nightly, ada] = [makeToken(), makeToken({ id: tokenId('t_2'), name: 'ada', expiresAt: at(9) })];
      await store.write(tx => {
        tx.insertApiToken(nightly, 'hash-1');
        tx.insertApiToken(ada, 'hash-2');
      });
      expect(store.apiToken(nightly.id)).toEqual(nightly);
      expect(store.apiTokenByHash('hash-2')).toEqual(ada);
      expect(store.apiTokens()).toEqual([ada, nightly]);
      expect([store.apiToken(tokenId('t_3')), store.apiTokenByHash('hash-3')]).toEqual([null, null]);
    });

    test('stores the time when an API token was last used', async () => {
      const store = open();
      await store.write(tx => tx.insertApiToken(makeToken(), 'hash-1'));
      await store.write(tx => tx.setApiTokenUsed(tokenId('t_1'), at(5)));
      expect(store.apiToken(tokenId('t_1'))?.usedAt).toBe(at(5));
    });

    test('refuses a second API token with the same name, in upper or lower case, or with the same hash', async () => {
      const store = open();
      await store.write(tx => tx.insertApiToken(makeToken(), 'hash-1'));
      const other = makeToken({ id: tokenId('t_2') });
      await expect(
        store.write(tx => tx.insertApiToken({ ...other, name: 'NIGHTLY' }, 'hash-2')),
      ).rejects.toThrow('UNIQUE');
      await expect(store.write(tx => tx.insertApiToken({ ...other, name: 'x' }, 'hash-1'))).rejects.toThrow(
        'UNIQUE',
      );
      expect(store.apiTokens()).toHaveLength(1);
    });

    test('removes the sessions of a removed API token, and no other sessions', async () => {
      const store = open();
      await store.write(tx => {
        tx.insertApiToken(makeToken(), 'hash-1');
        tx.insertSession('s-1', makeSession({ tokenId: tokenId('t_1'), adminHash: null }));
        tx.insertSession('s-2', makeSession({ id: SessionId.parse('se_2'), user: 'admin' }));
      });
      expect(store.session('s-1')).toMatchObject({ tokenId: 't_1' });
      await store.write(tx => tx.removeApiToken(tokenId('t_1')));
      expect([store.apiToken(tokenId('t_1')), store.session('s-1')]).toEqual([null, null]);
      expect(store.session('s-2')).toMatchObject({ user: 'admin', tokenId: null });
    });
  });
}
