/** Which calls a permission allows, and which permissions its holder may grant. */
import { describe, expect, test } from 'vitest';
import { mayGrant, type OwnRule, type Permission, reachOf } from '../../../protocol/call.ts';

describe('a call that needs queue.cancel', () => {
  const reach = (own: OwnRule, ...held: readonly Permission[]) =>
    reachOf(held, { authority: 'queue.cancel', own });

  test.each<readonly [OwnRule, string]>([
    ['job', 'own'],
    ['filtered', 'own'],
    ['shared', 'all'],
    ['refused', 'none'],
  ])('with the rule %j reaches %j for a token with queue.cancel.own', (rule, reached) => {
    expect(reach(rule, 'queue.cancel.own')).toBe(reached);
    expect(reach(rule, 'queue.view.own', 'queue.submit')).toBe('none');
    expect(reach(rule, 'queue.cancel.own', 'queue.cancel')).toBe('all');
  });
});

test('a call without a rule needs exactly its permission, and an open call needs none', () => {
  expect(reachOf(['admin.audit'], { authority: 'admin.audit' })).toBe('all');
  expect(reachOf(['admin.tokens'], { authority: 'admin.audit' })).toBe('none');
  expect(reachOf([], { authority: 'open' })).toBe('all');
  expect(reachOf(['admin.workers'], { authority: 'worker' })).toBe('none');
});

test('a full permission includes its .own form, and not the reverse', () => {
  expect(mayGrant(['queue.view'], 'queue.view')).toBe(true);
  expect(mayGrant(['queue.view'], 'queue.view.own')).toBe(true);
  expect(mayGrant(['queue.view.own'], 'queue.view')).toBe(false);
  expect(mayGrant(['queue.view'], 'queue.cancel.own')).toBe(false);
});
